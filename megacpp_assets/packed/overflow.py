"""Writes the overflow file of packed rows: the documents that are too long for a row, whole, as JSON lines.

A line is the document's enriched record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.storage.jsonl import write_lines
from megacpp_assets.storage.parquet import batches
from megacpp_assets.storage.publish import Publication

_BATCH_DOCUMENTS = 256


def write_overflow(
    publication: Publication, split: str, sources: Sequence[Sequence[Path]], over: NDArray[np.bool_]
) -> None:
    """Write the documents of `sources` whose flag in `over` (documents,) is set, in order. No flag set: no file."""
    rows = int(over.sum())
    if rows:
        with publication.file(c.overflow_file(split)) as pending:
            write_lines(pending.path, _lines(sources, over))
            pending.rows = rows


def _lines(sources: Sequence[Sequence[Path]], over: NDArray[np.bool_]) -> Iterator[bytes]:
    done = 0
    for path in (path for files in sources for path in files):
        for batch in batches(path, _BATCH_DOCUMENTS):
            chosen = np.flatnonzero(over[done : done + batch.num_rows])
            done += batch.num_rows
            for record in batch.take(chosen).to_pylist():
                yield orjson.dumps(record) + b"\n"
