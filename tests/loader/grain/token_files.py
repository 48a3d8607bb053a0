"""Files of bare tokens and what upstream's loader makes of them.

`vectors.json` holds what MaxText's loader gave for them on 20 November 2026, with the version of numpy that it names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from megacpp_assets.loader.grain.files import raw_header_reader
from megacpp_assets.loader.grain.index import OlmoNpyIndex, build_index

VECTORS: dict[str, Any] = json.loads(Path(__file__).with_name("vectors.json").read_text())


def write_files(folder: Path, sizes: list[int], dtype: str = "uint32") -> list[str]:
    """Files of so many tokens each; the numbers run on from file to file, so that each token says where it is."""
    paths, start = [], 0
    for number, size in enumerate(sizes):
        path = folder / f"f{number}.bin"
        np.arange(start, start + size, dtype=dtype).tofile(path)
        paths.append(str(path))
        start += size
    return paths


def index_of(folder: Path, sizes: list[int], length: int, dtype: str = "uint32") -> OlmoNpyIndex:
    """The index of such files, in windows of `length`."""
    named = [(path, f"lab{number}") for number, path in enumerate(write_files(folder, sizes, dtype))]
    return build_index(named, length, tokenizer="tok", header_reader=raw_header_reader(dtype))
