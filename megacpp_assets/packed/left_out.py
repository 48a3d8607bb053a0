"""Training documents that stay out of a mixture, as they hold a near copy of what a repository holds out.

Semantic documents are compared with the held-out definitions of other repositories; within a repository, stage 2 leaves
near copies out. Documents of commits are compared with those of their own repository too: code moves between files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import LEAST_RUNS, Copies, Shingles, shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import version_of
from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.storage.parquet import batches, count_rows

_BATCH_DOCUMENTS: Final = 256


def left_out(
    trained: Sequence[Sequence[Path]], held: Sequence[Sequence[Path]], share: float
) -> list[NDArray[np.bool_]]:
    """By repository, which of its training documents hold at least `share` of the runs of tokens of a held-out root of
    another repository, or, if they are made of commits, of any. `trained` and `held` are each repository's enriched
    files of either side; documents are in the order of the files."""
    roots = [[runs for text in _root_texts(files) if len(runs := shingles(text)) >= LEAST_RUNS] for files in held]
    found = []
    for number, files in enumerate(trained):
        others = [runs for owner, owned in enumerate(roots) if owner != number for runs in owned]
        of_commits = [bool(version_of(file.parent.name)) for file in files]
        verdicts = [np.zeros(0, dtype=np.bool_)]
        for commits, group in groupby(zip(of_commits, files, strict=True), key=itemgetter(0)):
            compared = others + roots[number] if commits else others
            verdicts.append(_copying([file for _, file in group], compared, share))
        found.append(np.concatenate(verdicts))
    return found


def _copying(files: Sequence[Path], roots: Sequence[Shingles], share: float) -> NDArray[np.bool_]:
    """Which documents of `files` hold a near copy of one of `roots`."""
    if not roots:  # there is no text to read, only documents to count
        return np.zeros(sum(map(count_rows, files)), dtype=np.bool_)
    copies = Copies(roots)
    return np.fromiter((len(copies.held_by_text(text, share)) > 0 for text in _texts(files)), dtype=np.bool_)


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
