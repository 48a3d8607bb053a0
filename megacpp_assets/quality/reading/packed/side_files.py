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
from megacpp_assets.packed.blend import shards_of_split
from megacpp_assets.quality.reading.packed.selection import (
    budgets_of,
    clusters_of,
    definitions_of,
    excluded_by_source,
    too_long,
)
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import batches

_BLOCK_DOCUMENTS = 256
_SHOWN_CHARS = 200


def duplicates_problem(packed: Artifact, inputs: Sequence[Artifact]) -> str:
    """Return the first problem with the files of near-duplicate clusters; "" if there is none."""
    files = [shards_of_split(source, budgets_of(packed, TRAIN_SPLIT), TRAIN_SPLIT) for source in inputs]
    for name, file, found in (
        ("duplicates", c.DUPLICATES_FILE, clusters_of),
        ("definitions", c.DEFINITIONS_FILE, definitions_of),
    ):
        recorded = [line for path in packed.files("", file) for line in _lines(path)]
        if packed.manifest.config[name] == "ignore":
            if recorded:
                return f"{file} has clusters that the recipe does not ask for"
            continue
        for number, (line, expected) in enumerate(zip_longest(recorded, found(packed, files).lines()), 1):
            if line != expected:
                return f"line {number} of {file} differs: {_shorten(line)}, expected {_shorten(expected)}"
    return ""


def _shorten(line: bytes | None) -> str:
    return line.decode(errors="replace").strip()[:_SHOWN_CHARS] if line else "nothing"


def overflow_problems(packed: Artifact, inputs: Sequence[Artifact], split: str) -> Iterator[str]:
    """Yield a problem for each line of the overflow file that differs from the expected document.

    The expected lines are the documents that are too long for a row, whole and in the order of the sources, except for
    those that the mixture leaves out anyway.
    """
    excluded, files = excluded_by_source(packed, inputs, split)
    expected = (
        record
        for paths, left in zip(files, excluded, strict=True)
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
