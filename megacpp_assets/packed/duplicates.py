"""Finds clusters of equal or near-duplicate documents of different repositories.

Two texts are near-duplicates if each contains at least `share` of the other's token runs. Documents of one repository
are not compared, because they share context by design. Versions of one file are its history: where a catalogue has two
entries for one project, documents of commits are no near-duplicates of others of the same file.

Token runs are in temporary files (TMPDIR). Memory holds about 100 bytes for each document and 130 MB.
"""

from __future__ import annotations

import hashlib
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import LEAST_RUNS, shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import version_of
from megacpp_assets.packed.common_runs import CommonRuns, Indices
from megacpp_assets.storage.parquet import batches

_BATCH_DOCUMENTS: Final = 256
_DIGEST_BYTES: Final = 16
_MOST_UNLIKE: Final = 1 << 21
"""Pairs that were compared in vain are remembered, as texts that share one rare run often share more."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of all documents, in the order of the sources. All arrays have shape (documents,) but `digests`.

    `cluster` is the index of the first document of a document's cluster; a cluster may have one document. `exact` is
    True if an earlier repository has a document with the same text. `near` is True if an earlier repository has a near-
    duplicate. `digests` (documents, 16) begins the sha256 of each text. `sources` are the files of the documents.
    """

    cluster: NDArray[np.int64]
    exact: NDArray[np.bool_]
    near: NDArray[np.bool_]
    digests: NDArray[np.uint8]
    sources: Sequence[Sequence[Path]]

    @property
    def copied(self) -> NDArray[np.bool_]:
        """The mask of the documents of which an earlier repository has an equal or near-duplicate one."""
        return self.exact | self.near

    def removed(self, duplicates: str) -> NDArray[np.bool_]:
        """Return the mask of the documents that the recipe's `mixture.duplicates` leaves out.

        The first repository keeps its document.
        """
        none = np.zeros_like(self.exact)
        return {"drop_exact": self.exact, "drop_near": self.copied}.get(duplicates, none)

    def lines(self) -> Iterator[bytes]:
        """Yield a JSON line for each document of a cluster with at least two documents, cluster by cluster.

        The id of a cluster is the hash of its first text, so that it is the same in other mixtures with that document.
        """
        sizes = np.bincount(self.cluster, minlength=len(self.cluster))
        members = np.flatnonzero(sizes[self.cluster] > 1)
        names = dict(zip(members.tolist(), self._names(members), strict=True))
        for document in members[np.argsort(self.cluster[members], kind="stable")].tolist():
            repo, doc_id = names[document]
            name = self.digests[self.cluster[document]].tobytes().hex()[:16]
            kinds = {"exact": bool(self.exact[document]), "near": bool(self.near[document])}
            yield orjson.dumps({"cluster": name, "repo": repo, "doc_id": doc_id, **kinds}) + b"\n"

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
    with tempfile.TemporaryDirectory(prefix="megacpp-runs-") as folder:
        runs = CommonRuns(Path(folder))
        try:
            documents = _read(sources, runs, projects or [str(number) for number in range(len(sources))])
            return _clusters(documents, runs, share, sources)
        finally:
            runs.close()


@dataclass(frozen=True, slots=True)
class _Documents:
    """All documents: `source` is the number of the repository. `history` is the same for documents of one file of one
    project, and `versioned` is True for those that are made of commits. Arrays have shape (documents,) or, `digests`,
    (documents, 16).
    """

    source: NDArray[np.int32]
    history: NDArray[np.uint64]
    versioned: NDArray[np.bool_]
    digests: NDArray[np.uint8]


def _read(sources: Sequence[Sequence[Path]], runs: CommonRuns, projects: Sequence[str]) -> _Documents:
    source, history, versioned, digests = array("i"), array("Q"), array("b"), bytearray()
    for number, files in enumerate(sources):
        for path in files:
            is_versioned = bool(version_of(path.parent.name))
            for batch in batches(path, _BATCH_DOCUMENTS, [c.FILEPATH, c.TEXT]):
                source.extend([number] * batch.num_rows)
                versioned.extend([is_versioned] * batch.num_rows)
                for name, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    history.append(_history(projects[number], name))
                    digests += hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:_DIGEST_BYTES]
                    runs.add(shingles(text))
    return _Documents(
        np.array(source, np.int32),
        np.array(history, np.uint64),
        np.array(versioned, np.bool_),
        np.frombuffer(bytes(digests), np.uint8).reshape(-1, _DIGEST_BYTES),
    )


def _history(project: str, path: str) -> int:
    name = f"{project}\0{path}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def _clusters(documents: _Documents, runs: CommonRuns, share: float, sources: Sequence[Sequence[Path]]) -> Clusters:
    text, first = _distinct(documents.digests)
    texts = _Texts(documents, text, first)
    exact = documents.source != documents.source[first[text]]
    is_long = runs.lengths[first] >= LEAST_RUNS
    is_asked = np.zeros(len(text), np.bool_)
    is_asked[first[is_long]] = True

    def is_settled(some: Indices, leaders: Indices) -> NDArray[np.bool_]:
        return texts.is_settled(np.searchsorted(first, some), np.searchsorted(first, leaders))

    for one, other in runs.candidates(is_asked, documents.source, share, is_settled):
        # The first documents ascend with the numbers of their texts.
        texts.compare(np.searchsorted(first, one), np.searchsorted(first, other), runs, share)
    roots = texts.roots(np.arange(len(first)))
    # A long text of two repositories is one cluster with all its documents, as are texts that were joined.
    is_joined = (texts.several & is_long) | (np.bincount(roots, minlength=len(first))[roots] > 1)
    own = np.arange(len(text))
    cluster = np.where(is_joined[text], first[roots[text]], np.where(exact, first[text], own))
    return Clusters(cluster, exact, texts.near[text] & ~exact, documents.digests, sources)


def _distinct(digests: NDArray[np.uint8]) -> tuple[Indices, Indices]:
    """Return (number of each document's text, first document of each text). Texts are numbered by first document."""
    halves = digests.reshape(-1, _DIGEST_BYTES).view(np.uint64)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (halves[order[1:]] != halves[order[:-1]]).any(axis=1)
    by_digest = order[is_first]  # lexsort is stable
    rank = np.empty(len(by_digest), np.int64)
    rank[np.argsort(by_digest)] = np.arange(len(by_digest))
    text = np.empty(len(order), np.int64)
    text[order] = rank[np.cumsum(is_first) - 1]
    return text, np.sort(by_digest)


class _Texts:
    """Distinct texts: the clusters of near-duplicates among them. All arrays have shape (texts,).

    `source` is the first repository of a text, `several` is True if it has more than one. `near` is True if an earlier
    repository than the first has a near-duplicate.
    """

    def __init__(self, documents: _Documents, text: Indices, first: Indices) -> None:
        self.source = documents.source[first]
        self.several = np.zeros(len(first), np.bool_)
        self.several[text[documents.source != self.source[text]]] = True
        self.near = np.zeros(len(first), np.bool_)
        self._first = first
        self._history = documents.history[first]
        self._has_one_history = np.ones(len(first), np.bool_)
        self._has_one_history[text[documents.history != self._history[text]]] = False
        self._is_versioned = np.zeros(len(first), np.bool_)
        self._is_versioned[text[documents.versioned]] = True
        self._parent = np.arange(len(first))
        self._unlike = np.zeros(0, np.uint64)

    def roots(self, texts: Indices) -> Indices:
        """Return the first text of the cluster of each of `texts`."""
        roots = self._parent[texts]
        while (roots != (above := self._parent[roots])).any():
            roots = above
        self._parent[texts] = roots
        return roots

    def compare(self, one: Indices, other: Indices, runs: CommonRuns, share: float) -> None:
        """Compare pairs of texts, of which `one` is the earlier, and join those that are near-duplicates."""
        is_open = self._is_open(one, other)
        pairs = np.unique((one[is_open].astype(np.uint64) << np.uint64(32)) | other[is_open].astype(np.uint64))
        pairs = np.setdiff1d(pairs, self._unlike, assume_unique=True)
        unlike = np.ones(len(pairs), np.bool_)
        earlier, later = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
        own, runs_of_own = -1, runs.runs(0)
        for place in np.argsort(later, kind="stable").tolist():
            pair = earlier[place : place + 1], later[place : place + 1]
            if not self._is_open(*pair)[0]:  # pairs before this one decided it
                continue
            first, second = int(pair[0][0]), int(pair[1][0])
            if second != own:
                own, runs_of_own = second, runs.runs(int(self._first[second]))
            found = runs.runs(int(self._first[first]))
            shared = len(np.intersect1d(found, runs_of_own, assume_unique=True))
            if shared >= share * min(len(found), len(runs_of_own)):
                unlike[place] = False
                self._join(first, second)
        known = self._unlike if len(self._unlike) < _MOST_UNLIKE else self._unlike[:0]
        self._unlike = np.union1d(known, pairs[unlike])

    def is_settled(self, texts: Indices, leaders: Indices) -> NDArray[np.bool_]:
        """Return the mask of the texts that are joined with their leader, an earlier text, and of which `near` is known
        as far as texts from the leader on decide it.
        """
        is_known = self.near[texts] | (self.source[texts] == self.source[leaders])
        return np.asarray((self.roots(texts) == self.roots(leaders)) & is_known)

    def _is_open(self, one: Indices, other: Indices) -> NDArray[np.bool_]:
        """Return the mask of the pairs that are compared, and whose comparison may still change something."""
        is_later = self.source[one] < self.source[other]
        is_compared = is_later | self.several[one] | self.several[other]
        is_history = (self._history[one] == self._history[other]) & (
            self._is_versioned[one] | self._is_versioned[other]
        )
        is_history &= self._has_one_history[one] & self._has_one_history[other]
        is_undecided = (self.roots(one) != self.roots(other)) | (is_later & ~self.near[other])
        return np.asarray(is_compared & ~is_history & is_undecided)

    def _join(self, one: int, other: int) -> None:
        """Merge the clusters of two texts. The smaller root stays, so that a cluster is named by its first text."""
        self.near[other] |= self.source[one] < self.source[other]
        first, second = np.sort(self.roots(np.array([one, other]))).tolist()
        self._parent[second] = first
