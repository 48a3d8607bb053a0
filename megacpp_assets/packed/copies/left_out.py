"""Finds training documents that contain a near-duplicate of a held-out definition. No mixture takes them.

Semantic documents are compared with the held-out definitions of other repositories only: within a repository,
`semantic_jsonl` already left near-duplicates out. Documents made from commits are also compared with those of their
own repository, because code moves between files.
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
    """Return one mask per repository: True for each training document that contains a near-duplicate of a held-out
    root.

    A document contains a near-duplicate if it has at least `share` of the root's token runs. `trained` and `held` are
    the enriched files of the training and validation split of each repository. Documents are in the order of the files.
    """
    roots = [[runs for text in _root_texts(files) if len(runs := shingles(text)) >= LEAST_RUNS] for files in held]
    found = []
    for number, files in enumerate(trained):
        others = [runs for owner, owned in enumerate(roots) if owner != number for runs in owned]
        from_commits = [bool(version_of(file.parent.name)) for file in files]
        masks = [np.zeros(0, dtype=np.bool_)]
        for is_from_commits, group in groupby(zip(from_commits, files, strict=True), key=itemgetter(0)):
            compared = others + roots[number] if is_from_commits else others
            masks.append(_copying([file for _, file in group], compared, share))
        found.append(np.concatenate(masks))
    return found


def _copying(files: Sequence[Path], roots: Sequence[Shingles], share: float) -> NDArray[np.bool_]:
    """Return the mask of the documents of `files` that contain a near-duplicate of one of `roots`."""
    if not roots:  # nothing to compare: the documents are only counted
        return np.zeros(sum(map(count_rows, files)), dtype=np.bool_)
    copies = Copies(roots, share)
    return np.fromiter((len(copies.in_text(text)) > 0 for text in _texts(files)), dtype=np.bool_)


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
