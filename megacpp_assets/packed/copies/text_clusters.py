"""Finds clusters of equal or near-duplicate texts of different repositories.

Two texts are near-duplicates if at least `share` of the token runs of the shorter one are in the other, and it has at
least `share` of the other's length. Texts of one repository are
not compared. Versions of one file are its history: where a catalogue has two entries for one project, texts of commits
are no near-duplicates of others of the same file.

Token runs are in temporary files (TMPDIR). Memory holds about 80 bytes for each text and 200 MB.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import LEAST_RUNS, Shingles
from megacpp_assets.packed.copies.common_runs import CommonRuns, Indices

_DIGEST_BYTES: Final = 16
_MOST_UNLIKE: Final = 1 << 21
"""Pairs that were compared in vain are remembered, as texts that share one rare run often share more."""


@dataclass(frozen=True, slots=True)
class TextClusters:
    """The clusters of all texts, in the order in which they were added. All arrays have shape (texts,) but `digests`.

    `cluster` is the index of the first text of a text's cluster; a cluster may have one text. `exact` is True if an
    earlier repository has the same text. `near` is True if an earlier repository has a near-duplicate. `digests`
    (texts, 16) begins the sha256 of each text.
    """

    cluster: NDArray[np.int64]
    exact: NDArray[np.bool_]
    near: NDArray[np.bool_]
    digests: NDArray[np.uint8]

    @property
    def copied(self) -> NDArray[np.bool_]:
        """The mask of the texts of which an earlier repository has an equal or near-duplicate one."""
        return self.exact | self.near

    def copies(self, action: str) -> NDArray[np.bool_]:
        """Return the mask of the texts that `action`, a value of the recipe, leaves out.

        The first repository keeps its text.
        """
        none = np.zeros_like(self.exact)
        return {"drop_exact": self.exact, "drop_near": self.copied}.get(action, none)

    def members(self) -> NDArray[np.int64]:
        """Return the texts of clusters with at least two texts, ascending."""
        sizes = np.bincount(self.cluster, minlength=len(self.cluster))
        return np.flatnonzero(sizes[self.cluster] > 1)

    def by_cluster(self, members: NDArray[np.int64]) -> Iterator[tuple[int, dict[str, object]]]:
        """Yield each of `members`, cluster by cluster, with the id of its cluster and whether it is a copy.

        The id of a cluster is the hash of its first text, so that it is the same in other mixtures with that text.
        """
        for text in members[np.argsort(self.cluster[members], kind="stable")].tolist():
            name = self.digests[self.cluster[text]].tobytes().hex()[:16]
            yield text, {"cluster": name, "exact": bool(self.exact[text]), "near": bool(self.near[text])}


@dataclass(frozen=True, slots=True)
class _Facts:
    """All texts: `source` is the number of the repository. `history` is the same for texts of one file of one project,
    and `versioned` is True for those that are made of commits. Arrays have shape (texts,) or, `digests`, (texts, 16).
    """

    source: NDArray[np.int32]
    history: NDArray[np.uint64]
    versioned: NDArray[np.bool_]
    digests: NDArray[np.uint8]


class ComparedTexts:
    """Takes texts, repository by repository, and finds their clusters. `folder` receives temporary files."""

    def __init__(self, folder: Path) -> None:
        self._runs = CommonRuns(folder)
        self._source, self._history, self._versioned = array("i"), array("Q"), array("b")
        self._digests = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._runs.close()

    def add(self, identity: str, runs: Shingles, source: int, history: int, *, versioned: bool) -> None:
        """Take the next text of repository number `source`, which may not be smaller than the one before it.

        `identity` is the text, or another one that only equal texts share. `runs` are its shingles. `history` is
        `history_of` its file. `versioned` says that it was made of a commit.
        """
        self._source.append(source)
        self._history.append(history)
        self._versioned.append(versioned)
        self._digests += hashlib.sha256(identity.encode("utf-8", "surrogateescape")).digest()[:_DIGEST_BYTES]
        self._runs.add(runs)

    @property
    def lengths(self) -> Indices:
        """The number of shingles of each text."""
        return self._runs.lengths

    def clusters(self, share: float) -> TextClusters:
        """Return the clusters of the texts. Only texts of at least `LEAST_RUNS` shingles have near-duplicates."""
        facts = _Facts(
            np.frombuffer(self._source, np.int32),
            np.frombuffer(self._history, np.uint64),
            np.frombuffer(self._versioned, np.bool_),
            np.frombuffer(self._digests, np.uint8).reshape(-1, _DIGEST_BYTES),
        )
        return _clusters(facts, self._runs, share)


def history_of(project: str, path: str) -> int:
    """Return a hash that is the same for all versions of a file of a project."""
    name = f"{project}\0{path}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def _clusters(facts: _Facts, runs: CommonRuns, share: float) -> TextClusters:
    text, first = _distinct(facts.digests)
    texts = _Texts(facts, text, first)
    exact = facts.source != facts.source[first[text]]
    is_long = runs.lengths[first] >= LEAST_RUNS
    is_asked = np.zeros(len(text), np.bool_)
    is_asked[first[is_long]] = True

    def is_settled(some: Indices, leaders: Indices) -> NDArray[np.bool_]:
        return texts.is_settled(np.searchsorted(first, some), np.searchsorted(first, leaders))

    for one, other in runs.candidates(is_asked, facts.source, share, is_settled):
        # The first ones ascend with the numbers of their texts.
        texts.compare(np.searchsorted(first, one), np.searchsorted(first, other), runs, share)
    roots = texts.roots(np.arange(len(first)))
    # A long text of two repositories is one cluster wherever it occurs, as are texts that were joined.
    is_joined = (texts.several & is_long) | (np.bincount(roots, minlength=len(first))[roots] > 1)
    own = np.arange(len(text))
    cluster = np.where(is_joined[text], first[roots[text]], np.where(exact, first[text], own))
    return TextClusters(cluster, exact, texts.near[text] & ~exact, facts.digests)


def _distinct(digests: NDArray[np.uint8]) -> tuple[Indices, Indices]:
    """Return (number of each text among the distinct ones, first of each). They are numbered by their first."""
    halves = digests.reshape(-1, _DIGEST_BYTES).view(np.uint64)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    is_first = np.ones(len(order), np.bool_)
    halves = halves[order]
    is_first[1:] = (halves[1:] != halves[:-1]).any(axis=1)
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

    def __init__(self, facts: _Facts, text: Indices, first: Indices) -> None:
        self.source = facts.source[first]
        self.several = np.zeros(len(first), np.bool_)
        self.several[text[facts.source != self.source[text]]] = True
        self.near = np.zeros(len(first), np.bool_)
        self._first = first
        self._history = facts.history[first]
        self._has_one_history = np.ones(len(first), np.bool_)
        self._has_one_history[text[facts.history != self._history[text]]] = False
        self._is_versioned = np.zeros(len(first), np.bool_)
        self._is_versioned[text[facts.versioned]] = True
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
