"""Finds clusters of equal or near-duplicate documents of different repositories.

Documents of one repository are not compared, because they share context by design. `text_clusters` says what is a near-
duplicate, and what memory and temporary files the search needs. A document that only includes headers has no code that
another could copy, and many are equal by chance. It is in no cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import version_of
from megacpp_assets.packed.copies.text_clusters import ComparedTexts, TextClusters, history_of
from megacpp_assets.storage.parquet import batches
from megacpp_assets.storage.scratch import scratch_folder

_BATCH_DOCUMENTS: Final = 256
_NO_CODE: Final = re.compile(
    r"(?>(?:\s*+(?:#\s*(?:include|if|ifdef|ifndef|else|elif|endif|pragma once)\b[^\n]*+"
    r"|//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)\*/))*)\s*+"
)
"""Includes, conditions around them, and comments."""


@dataclass(frozen=True, slots=True)
class Clusters(TextClusters):
    """The clusters of all documents, in the order of `sources`, the files of each repository."""

    sources: Sequence[Sequence[Path]]

    def removed(self, action: str) -> NDArray[np.bool_]:
        """Return the mask of the documents that the recipe's `mixture.duplicates` leaves out."""
        return self.copies(action)

    def lines(self) -> Iterator[bytes]:
        """Yield a JSON line for each document of a cluster with at least two documents, cluster by cluster."""
        members = self.members()
        names = dict(zip(members.tolist(), self._names(members), strict=True))
        for document, facts in self.by_cluster(members):
            repo, doc_id = names[document]
            cluster, *kinds = facts.items()
            yield orjson.dumps(dict([cluster, (c.REPO, repo), (c.DOC_ID, doc_id), *kinds])) + b"\n"

    def _names(self, documents: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
        """Yield (repository, document id) of `documents`, which ascend."""
        start = 0
        for path in (path for files in self.sources for path in files):
            for batch in batches(path, _BATCH_DOCUMENTS, [c.REPO, c.DOC_ID]):
                first, last = np.searchsorted(documents, [start, start + batch.num_rows])
                rows = batch.take(documents[first:last] - start)
                yield from zip(*(rows.column(name).to_pylist() for name in (c.REPO, c.DOC_ID)), strict=True)
                start += batch.num_rows


def find_clusters(sources: Sequence[Sequence[Path]], share: float, projects: Sequence[str] = ()) -> Clusters:
    """Return the clusters of the documents in `sources`, the enriched files of each repository.

    `projects` names the project of each source; by default each is another one.
    """
    projects = projects or [str(number) for number in range(len(sources))]
    with scratch_folder("megacpp-runs-") as folder, ComparedTexts(folder) as texts:
        for number, files in enumerate(sources):
            for path in files:
                _read(path, texts, number, projects[number])
        found = texts.clusters(share)
    return Clusters(found.cluster, found.exact, found.near, found.digests, sources)


def _read(path: Path, texts: ComparedTexts, source: int, project: str) -> None:
    versioned = bool(version_of(path.parent.name))
    names = [c.REPO, c.DOC_ID, c.FILEPATH, c.TEXT]
    for batch in batches(path, _BATCH_DOCUMENTS, names):
        columns = (batch.column(name).to_pylist() for name in names)
        for repo, doc_id, name, text in zip(*columns, strict=True):
            is_code = not _NO_CODE.fullmatch(text)
            identity, compared = (text, text) if is_code else (f"{repo}\0{doc_id}", "")
            texts.add(identity, shingles(compared), source, history_of(project, name), versioned=versioned)
