"""Documents of different repositories that are the same, or nearly: found in clusters, told, and left out if asked.

Two texts are near where each has `share` of the other's runs of tokens. Within a repository documents share context by
design, and are not compared. All runs of a mixture are in memory: eight bytes for each token of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import LEAST_RUNS, Copies, Shingles, shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.storage.parquet import batches

_BATCH_DOCUMENTS = 256


@dataclass(frozen=True, slots=True)
class Clusters:
    """By document, in the order of the sources: `cluster` is the first document of its cluster, itself where it is
    alone; `exact` whether a document of an earlier repository has its very text, `near` whether one is near it.
    """

    cluster: NDArray[np.int64]
    exact: NDArray[np.bool_]
    near: NDArray[np.bool_]
    names: Sequence[tuple[str, str]]

    def removed(self, duplicates: str) -> NDArray[np.bool_]:
        """The documents that a recipe's `mixture.duplicates` leaves out: the first repository keeps its own."""
        none = np.zeros_like(self.exact)
        return {"drop_exact": self.exact, "drop_near": self.exact | self.near}.get(duplicates, none)

    def lines(self) -> Iterator[bytes]:
        """A JSON line for each document of a cluster of more than one, cluster by cluster."""
        sizes = np.bincount(self.cluster, minlength=len(self.cluster))
        for document in np.argsort(self.cluster, kind="stable").tolist():
            if sizes[self.cluster[document]] > 1:
                repo, doc_id = self.names[document]
                line = {"cluster": int(self.cluster[document]), "repo": repo, "doc_id": doc_id}
                yield orjson.dumps({**line, "exact": bool(self.exact[document])}) + b"\n"


def find_clusters(sources: Sequence[Sequence[Path]], share: float) -> Clusters:
    """The clusters of the documents in each source's enriched files."""
    names: list[tuple[str, str]] = []
    texts: list[str] = []
    source: list[int] = []
    for number, files in enumerate(sources):
        for path in files:
            for batch in batches(path, _BATCH_DOCUMENTS, [c.REPO, c.DOC_ID, c.TEXT]):
                names += zip(*(batch.column(name).to_pylist() for name in (c.REPO, c.DOC_ID)), strict=True)
                texts += batch.column(c.TEXT).to_pylist()
                source += [number] * batch.num_rows
    of = np.array(source, dtype=np.int64)
    cluster = np.arange(len(texts))
    exact, near = np.zeros(len(texts), dtype=np.bool_), np.zeros(len(texts), dtype=np.bool_)
    first_of: dict[str, int] = {}
    for document, text in enumerate(texts):
        first = first_of.setdefault(text, document)
        if of[first] != of[document]:
            exact[document] = True
            _join(cluster, first, document)
    runs = [shingles(text) for text in texts]
    for document, others in _near(runs, of, share):
        for other in others.tolist():
            near[document] |= not exact[document]
            _join(cluster, other, document)
    roots = np.array([_root(cluster, document) for document in range(len(texts))], dtype=np.int64)
    return Clusters(roots, exact, near, names)


def _near(runs: Sequence[Shingles], source: NDArray[np.int64], share: float) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each document that is near some of earlier repositories, and these."""
    lengths = np.array([len(each) for each in runs], dtype=np.int64)
    copies = Copies(runs)
    for document in np.flatnonzero(lengths >= LEAST_RUNS).tolist():
        found = copies.held_by(runs[document], share)
        alike = np.minimum(lengths[found], lengths[document]) >= share * np.maximum(lengths[found], lengths[document])
        chosen = found[alike & (source[found] < source[document]) & (lengths[found] >= LEAST_RUNS)]
        if len(chosen):
            yield document, chosen


def _root(cluster: NDArray[np.int64], document: int) -> int:
    while cluster[document] != document:
        document = int(cluster[document])
    return document


def _join(cluster: NDArray[np.int64], one: int, other: int) -> None:
    first, second = sorted((_root(cluster, one), _root(cluster, other)))
    cluster[second] = first
