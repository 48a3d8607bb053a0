"""Training documents that stay out of a mixture: another repository holds out what they hold a near copy of.

Within a repository, stage 2 sees to it; here all that a mixture takes is seen together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import LEAST_RUNS, Copies, shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.storage.parquet import batches, count_rows

_BATCH_DOCUMENTS: Final = 256


def left_out(
    trained: Sequence[Sequence[Path]], held: Sequence[Sequence[Path]], share: float
) -> list[NDArray[np.bool_]]:
    """By repository, which of its training documents hold at least `share` of the runs of tokens of a held-out root of
    another repository. `trained` and `held` are each repository's enriched files of either side; documents are in the
    order of the files."""
    roots = [[runs for text in _root_texts(files) if len(runs := shingles(text)) >= LEAST_RUNS] for files in held]
    found = []
    for number, files in enumerate(trained):
        others = [runs for owner, owned in enumerate(roots) if owner != number for runs in owned]
        if not others:  # there is no text to read, only documents to count
            found.append(np.zeros(sum(map(count_rows, files)), dtype=np.bool_))
            continue
        copies = Copies(others)
        verdicts = (len(copies.held_by_text(text, share)) > 0 for text in _texts(files))
        found.append(np.fromiter(verdicts, dtype=np.bool_))
    return found


def _texts(files: Sequence[Path]) -> Iterator[str]:
    for path in files:
        for batch in batches(path, _BATCH_DOCUMENTS, [c.TEXT]):
            yield from batch.column(c.TEXT).to_pylist()


def _root_texts(files: Sequence[Path]) -> Iterator[str]:
    for path in files:
        for batch in batches(path, _BATCH_DOCUMENTS, [c.TEXT, c.CONSTITUENTS]):
            yield from _roots(batch)


def _roots(batch: pa.RecordBatch) -> Iterator[str]:
    rows: list[dict[str, Any]] = batch.to_pylist()
    for row in rows:
        for part in row[c.CONSTITUENTS]:
            if part["role"] == ROOT_ROLE:
                yield row[c.TEXT][part["char_start"] : part["char_end"]]
