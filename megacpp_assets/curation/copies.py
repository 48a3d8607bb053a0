"""Copies among the files of a commit: clusters of equal and of nearly equal texts, and which file of each one stays.

Token 5-grams, MinHash signatures by rensa, candidates by bands, and the Jaccard similarity of every candidate verified.
Files are taken in path order and nothing is drawn, so neither their order nor the number of workers changes a cluster.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash

from megacpp_assets.compute.shingles import LEAST_RUNS, Shingles, shingles
from megacpp_assets.semantic.documents.roots.vendored import has_version

BANDS = 20
ROWS = 6
"""Bands and rows of the reference corpus: half of the pairs whose similarity is 0.61 share a band."""
PERMUTATIONS = 128
_SEED = 1
KEPT_TEXTS = 64
_MOST_REPRESENTATIVES = 8
"""Texts of one band that a new one is compared with. A cluster of n copies costs n comparisons, not n squared."""
_VENDORED = frozenset({"third_party", "thirdparty", "3rdparty", "third-party", "vendor", "external", "extern", "deps"})


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A file by its path and the hash of its content."""

    path: str
    blob: str


@dataclass(slots=True)
class Copies:
    """Signatures of distinct contents: 128 numbers each, whatever their length."""

    _order: list[str] = field(default_factory=list)
    _signatures: list[NDArray[np.uint32]] = field(default_factory=list)

    def add(self, blob: str, text: str) -> None:
        """Take the content `blob`. A text of few tokens is like others by chance: only equal ones are its copies."""
        runs = shingles(text)
        if len(runs) >= LEAST_RUNS:
            self.add_signature(blob, signature(runs))

    def add_signature(self, blob: str, values: NDArray[np.uint32]) -> None:
        """Take a content by its stored signature."""
        self._order.append(blob)
        self._signatures.append(values)

    def signatures(self) -> Iterator[tuple[str, NDArray[np.uint32]]]:
        """Yield (content, signature) by content."""
        for number in sorted(range(len(self._order)), key=lambda number: self._order[number]):
            yield self._order[number], self._signatures[number]

    def near(self, texts: Callable[[str], str], least: float) -> list[tuple[str, str]]:
        """Pairs of contents whose token 5-grams have a Jaccard similarity of `least` or more, found within bands.

        `texts` gives the text of a content; it is asked about candidates alone.
        """

        @lru_cache(maxsize=KEPT_TEXTS)
        def runs_of(blob: str) -> Shingles:
            return shingles(texts(blob))

        order = sorted(range(len(self._order)), key=lambda number: self._order[number])
        blobs = [self._order[number] for number in order]
        bands = _bands([self._signatures[number] for number in order])
        compared: dict[tuple[str, str], bool] = {}

        def compare(one: str, other: str) -> bool:
            if (one, other) not in compared:
                compared[one, other] = jaccard(runs_of(one), runs_of(other)) >= least
            return compared[one, other]

        for members in bands:
            for _ in pairs_within((blobs[number] for number in members), compare):
                pass
        return sorted(pair for pair, alike in compared.items() if alike)


def pairs_within(members: Iterable[str], similar: Callable[[str, str], bool]) -> Iterator[tuple[str, str]]:
    """Yield each content of a band, ascending, with the first representative before it that is `similar`.

    A content that is like none becomes one, as long as they are few.
    """
    representatives: list[str] = []
    for blob in members:
        alike = next((other for other in representatives if similar(other, blob)), None)
        if alike is not None:
            yield alike, blob
        elif len(representatives) < _MOST_REPRESENTATIVES:
            representatives.append(blob)


def signature(runs: Shingles) -> NDArray[np.uint32]:
    """Return the MinHash signature of a set of 64-bit hashes."""
    matrix = RMinHash.digest_matrix_from_token_hash_sets([runs.tolist()], PERMUTATIONS, _SEED)
    return np.asarray(matrix.to_rows()[0], dtype=np.uint32)


def signature_bytes(values: NDArray[np.uint32]) -> bytes:
    """Return a signature as it is stored: little-endian 32-bit numbers."""
    return values.astype("<u4").tobytes()


def signature_of(stored: bytes) -> NDArray[np.uint32]:
    """Return a stored signature: uint32 (PERMUTATIONS,)."""
    return np.frombuffer(stored, dtype="<u4").astype(np.uint32)


def jaccard(one: Shingles, other: Shingles) -> float:
    """Share of the union of two sets, ascending and each value once, that is in both."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / max(1, len(one) + len(other) - shared)


def joined(near: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Return a function from a content to the least content of its group; the pairs of `near` are in one group each."""
    parent: dict[str, str] = {}

    def least(blob: str) -> str:
        root = blob
        while (above := parent.get(root, root)) != root:
            root = above
        # Each content on the way is put right below the root, since a chain of n copies would cost n squared steps.
        while blob != root:
            parent[blob], blob = root, parent[blob]
        return root

    for one, other in near:
        first, last = sorted((least(one), least(other)))
        parent[last] = first
    return least


def clusters(files: Iterable[CopiedFile], near: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return path -> cluster of each file that has a copy; `near` are pairs of nearly equal contents.

    A cluster is named by the content of the file that stays.
    """
    group_of = joined(near)
    members: dict[str, list[CopiedFile]] = defaultdict(list)
    for file in files:
        members[group_of(file.blob)].append(file)
    named: dict[str, str] = {}
    for group in members.values():
        if len(group) > 1:
            name = stays(group).blob[:16]
            named.update((file.path, name) for file in group)
    return named


def rank(file: CopiedFile) -> tuple[bool, int, bytes]:
    """Of copies the first by this order stays: one of the project itself, less deep, by path."""
    return is_vendored(file.path), file.path.count("/"), file.path.encode()


def is_vendored(path: str) -> bool:
    """Return whether the file at `path` is in a folder for others' code or with a version in its name."""
    folders = posixpath.dirname(path).lower().split("/")
    return not _VENDORED.isdisjoint(folders) or any(map(has_version, folders))


def stays(files: Sequence[CopiedFile]) -> CopiedFile:
    """Return the file of a cluster that stays."""
    return min(files, key=rank)


def _bands(signatures: Sequence[NDArray[np.uint32]]) -> Iterator[list[int]]:
    """Yield numbers of the signatures that agree on all rows of a band, ascending, for each such group of two
    or more.
    """
    for band in range(BANDS if signatures else 0):
        groups: dict[bytes, list[int]] = defaultdict(list)
        for number, values in enumerate(signatures):
            groups[values[band * ROWS : (band + 1) * ROWS].tobytes()].append(number)
        yield from (members for members in groups.values() if len(members) > 1)
