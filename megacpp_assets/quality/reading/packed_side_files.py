"""Reads the side files of packed rows for their checks: clusters of near-duplicates, and overflow documents.

Overflow documents are those that are too long for a row.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.quality.reading.packed_selection import clusters_of, near_duplicates, too_long
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import batches

_BLOCK_DOCUMENTS = 256
_SHOWN_CHARS = 200


def duplicates_problem(packed: Artifact, inputs: Sequence[Artifact]) -> str:
    """Return the first problem with the file of near-duplicate clusters; "" if there is none."""
    recorded = [line for path in packed.files("", c.DUPLICATES_FILE) for line in _lines(path)]
    if packed.manifest.config["duplicates"] == "ignore":
        return "clusters that the recipe does not ask for" if recorded else ""
    _, files = near_duplicates(packed, inputs, TRAIN_SPLIT)
    for number, (line, expected) in enumerate(zip_longest(recorded, clusters_of(packed, files).lines()), 1):
        if line != expected:
            return f"line {number} is the first that differs: {_shorten(line)}, expected {_shorten(expected)}"
    return ""


def _shorten(line: bytes | None) -> str:
    return line.decode(errors="replace").strip()[:_SHOWN_CHARS] if line else "nothing"


def overflow_problems(packed: Artifact, inputs: Sequence[Artifact], split: str) -> Iterator[str]:
    """Yield a problem for each line of the overflow file that differs from the expected document.

    The expected lines are the documents that are too long for a row, whole and in the order of the sources, except for
    near-duplicates, which the mixture leaves out anyway.
    """
    near, files = near_duplicates(packed, inputs, split)
    expected = (
        record
        for paths, left in zip(files, near, strict=True)
        for record in _flagged(paths, too_long(packed, paths) & ~left)
    )
    found = (line for path in packed.files("", c.overflow_file(split)) for line in _lines(path))
    for number, (record, line) in enumerate(zip_longest(expected, found), 1):
        if line is None or record is None or orjson.loads(line) != record:
            document = "no document" if record is None else f"document {record[c.DOC_ID]} of {record[c.REPO]}"
            yield f"line {number} of {c.overflow_file(split)} for {document}"


def _flagged(paths: Sequence[Path], flags: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """Yield the documents of the files `paths` whose flag is set. `flags` has one flag per document of all files."""
    done = 0
    for path in paths:
        for batch in batches(path, _BLOCK_DOCUMENTS):
            yield from batch.take(np.flatnonzero(flags[done : done + batch.num_rows])).to_pylist()
            done += batch.num_rows


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        yield from io.BufferedReader(stream)
