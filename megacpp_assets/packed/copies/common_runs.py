"""Shingles of texts on disk, and the pairs of texts that may share enough of them.

The shingles of a text are ordered: first those that only one source has, then the others, the rarest first. Texts that
share enough shingles have a common one among the first half of each (prefix filtering). So only these are looked up.
Shingles are sorted in partitions: by shingle to count them, by text to order them, and by shingle again to pair texts.
One partition is in memory at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import Shingles
from megacpp_assets.contract.errors import naming

_PARTITION_RUNS: Final = 1 << 20
_MOST_PARTITIONS: Final = 4096
_PAIRS_AT_ONCE: Final = 1 << 18
_ROUNDING: Final = 1e-6
_RUN: Final = np.dtype([("run", np.uint64), ("text", np.uint32), ("value", np.uint32)])
"""A shingle of a text; `value` is how many texts have it, later its place in the order of the text."""
Rows = NDArray[Any]
Indices = NDArray[np.int64]


class CommonRuns:
    """Takes the shingles of texts into files of `folder`. Memory is fixed but for 8 bytes a text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "runs"
        self._ends = array("q", [0])
        self._file = self._path.open("w+b")

    def close(self) -> None:
        """Close the file of shingles."""
        self._file.close()

    def add(self, runs: Shingles) -> None:
        """Take the next text's shingles."""
        with naming(self._path):
            self._file.write(runs.tobytes())
        self._ends.append(self._ends[-1] + len(runs))

    @property
    def lengths(self) -> Indices:
        """The number of shingles of each text."""
        ends = np.array(self._ends, np.int64)
        return ends[1:] - ends[:-1]

    def runs(self, text: int) -> Shingles:
        """Read the shingles of a text back."""
        return self._read(self._ends[text], self._ends[text + 1])

    def candidates(
        self,
        is_asked: NDArray[np.bool_],
        source: NDArray[np.int32],
        share: float,
        is_settled: Callable[[Indices, Indices], NDArray[np.bool_]],
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield pairs of the texts that `is_asked` flags: (first, second) as two arrays, a pair several times.

        `source` has the source of each text. Every pair of different sources that shares `share` of the shorter one's
        shingles is among them, if the shorter has at least `share` of the longer one's length.

        Texts of a shingle are first paired with the first ones of two sources. Then `is_settled`, called with texts and
        the first one of each, flags those that need not be paired with each other. So a cluster of n copies does not
        cost n squared comparisons.
        """
        lengths = self.lengths
        count = 1
        while count < _MOST_PARTITIONS and self._ends[-1] > count * _PARTITION_RUNS:
            count *= 2
        every, ordered, paired = (_Partitions(self._folder, name, count) for name in ("every", "ordered", "paired"))
        for rows in self._rows():
            every.add(rows, _by_run(rows, count))
        width = max(1, -(-self._ends[-1] // count))
        starts = np.array(self._ends, np.int64)
        for rows in every.read():
            chosen = _shared(rows, source)
            chosen = chosen[is_asked[chosen["text"]]]
            ordered.add(chosen, starts[chosen["text"]] // width)
        for rows in ordered.read():
            chosen = _looked_up(rows, lengths, share)
            paired.add(chosen, _by_run(chosen, count))
        for rows in paired.read():
            by_run = rows[np.lexsort((rows["text"], rows["run"]))]
            for one, other in _leading_pairs(by_run, source):
                yield _possible(by_run[one], by_run[other], lengths, share)
            for one, other in _other_pairs(by_run, is_settled):
                yield _possible(by_run[one], by_run[other], lengths, share)

    def _read(self, start: int, end: int) -> Shingles:
        with naming(self._path):
            self._file.seek(start * 8)
            return np.frombuffer(self._file.read((end - start) * 8), np.uint64)

    def _rows(self) -> Iterator[Rows]:
        """Yield the shingles of all texts in portions."""
        ends = np.array(self._ends[1:], np.int64)
        for start in range(0, self._ends[-1], _PARTITION_RUNS):
            runs = self._read(start, min(start + _PARTITION_RUNS, self._ends[-1]))
            rows = np.zeros(len(runs), _RUN)
            rows["run"] = runs
            rows["text"] = np.searchsorted(ends, np.arange(start, start + len(runs)), side="right")
            yield rows


class _Partitions:
    """Rows in `count` files, each written in portions and read once."""

    def __init__(self, folder: Path, name: str, count: int) -> None:
        self._paths = [folder / f"{name}{number}" for number in range(count)]
        self._held: list[tuple[Rows, Indices]] = []
        self._size = 0

    def add(self, rows: Rows, partition: Indices) -> None:
        """Take rows, each for the partition of that number."""
        self._held.append((rows, partition))
        self._size += len(rows)
        if self._size >= _PARTITION_RUNS:
            self._write()

    def read(self) -> Iterator[Rows]:
        """Yield the rows of each partition, in the order in which they were added, and remove its file."""
        self._write()
        for path in self._paths:
            if path.exists():
                with naming(path):
                    rows = np.fromfile(path, _RUN)
                path.unlink()
                yield rows

    def _write(self) -> None:
        rows = np.concatenate([np.empty(0, _RUN), *(rows for rows, _ in self._held)])
        partition = np.concatenate([np.empty(0, np.int64), *(partition for _, partition in self._held)])
        self._held, self._size = [], 0
        order = np.argsort(partition, kind="stable")
        counts = np.bincount(partition, minlength=len(self._paths))
        ends = np.cumsum(counts)
        for number in np.flatnonzero(counts).tolist():
            with naming(self._paths[number]), self._paths[number].open("ab") as file:
                file.write(rows[order[ends[number] - counts[number] : ends[number]]].tobytes())


def _by_run(rows: Rows, count: int) -> Indices:
    # Shingles are products, whose upper bits are the mixed ones.
    return ((rows["run"] >> np.uint64(40)) & np.uint64(count - 1)).astype(np.int64)


def _shared(rows: Rows, source: NDArray[np.int32]) -> Rows:
    """Return the rows with a shingle that texts of two sources have, with the number of its texts."""
    rows = rows[np.argsort(rows["run"], kind="stable")]
    starts = _groups(rows)
    of = source[rows["text"]]
    counts = np.diff(np.append(starts, len(rows)))
    rows["value"] = np.repeat(counts, counts)
    is_shared = np.minimum.reduceat(of, starts) != np.maximum.reduceat(of, starts)
    return np.asarray(rows[np.repeat(is_shared, counts)])


def _looked_up(rows: Rows, lengths: Indices, share: float) -> Rows:
    """Return the rows of the first half of each text, with their places. `rows` has whole texts."""
    rows = rows[np.lexsort((rows["run"], rows["value"], rows["text"]))]
    starts = np.flatnonzero(np.append(True, rows["text"][1:] != rows["text"][:-1]))
    counts = np.diff(np.append(starts, len(rows)))
    length = lengths[rows["text"]]
    place = length - np.repeat(counts, counts) + np.arange(len(rows)) - np.repeat(starts, counts)
    rows["value"] = place
    # A partner may be shorter by `share`, and then shares only `share` of that.
    needed = np.maximum(1, (share * share * length - _ROUNDING).astype(np.int64))
    return np.asarray(rows[place <= length - needed])


def _possible(one: Rows, other: Rows, lengths: Indices, share: float) -> tuple[Indices, Indices]:
    """Return the texts of the pairs of rows whose lengths are alike, and that have enough shingles left to share."""
    first, second = one["text"].astype(np.int64), other["text"].astype(np.int64)
    shorter = np.minimum(lengths[first], lengths[second])
    is_possible = shorter >= share * np.maximum(lengths[first], lengths[second])
    needed = np.ceil(share * shorter - _ROUNDING)
    for text, rows in ((first, one), (second, other)):
        is_possible &= rows["value"] <= lengths[text] - needed
    return first[is_possible], second[is_possible]


def _leading_pairs(rows: Rows, source: NDArray[np.int32]) -> Iterator[tuple[Indices, Indices]]:
    """Yield the pairs of each row with the first row of its shingle, and with the first one of a second source."""
    starts, own = _groups(rows), np.arange(len(rows))
    of = source[rows["text"]]
    first = np.repeat(starts, np.diff(np.append(starts, len(rows))))
    second = np.minimum.reduceat(np.where(of == of[first], len(rows), own), starts)
    for leader in (first, np.repeat(second, np.diff(np.append(starts, len(rows))))):
        chosen = np.flatnonzero((leader != own) & (leader < len(rows)))
        for start in range(0, len(chosen), _PAIRS_AT_ONCE):
            one = chosen[start : start + _PAIRS_AT_ONCE]
            yield np.minimum(one, leader[one]), np.maximum(one, leader[one])


def _other_pairs(
    rows: Rows, is_settled: Callable[[Indices, Indices], NDArray[np.bool_]]
) -> Iterator[tuple[Indices, Indices]]:
    """Yield the pairs of rows of one shingle, but not of two settled texts."""
    starts, texts = _groups(rows), rows["text"].astype(np.int64)
    sizes = np.diff(np.append(starts, len(rows)))
    most = np.cumsum(sizes**2)
    group = 0
    while group < len(starts):
        before = int(most[group - 1]) if group else 0
        after = max(group + 1, int(np.searchsorted(most, before + _PAIRS_AT_ONCE, side="right")))
        first = np.repeat(starts[group:after], sizes[group:after])
        own = np.arange(first[0], first[0] + len(first))
        settled = is_settled(texts[own], texts[first])
        counts = np.where(settled, 0, np.repeat(sizes[group:after], sizes[group:after]))
        for start, stop in _portions(counts):
            one = np.repeat(own[start:stop], counts[start:stop])
            ends = np.cumsum(counts[start:stop])
            partner = np.repeat(first[start:stop], counts[start:stop])
            partner += np.arange(len(one)) - np.repeat(ends - counts[start:stop], counts[start:stop])
            # A pair of two that are not settled comes twice.
            is_new = (partner < one) | ((partner > one) & settled[partner - own[0]])
            yield np.minimum(one, partner)[is_new], np.maximum(one, partner)[is_new]
        group = after


def _groups(rows: Rows) -> Indices:
    """Return the first row of each shingle. `rows` ascend by shingle."""
    return np.flatnonzero(np.append(True, rows["run"][1:] != rows["run"][:-1]))


def _portions(counts: Indices) -> Iterator[tuple[int, int]]:
    """Yield ranges of `counts` whose sums are bounded, if a single count is."""
    sums, start = np.cumsum(counts), 0
    while start < len(counts):
        before = int(sums[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(sums, before + _PAIRS_AT_ONCE, side="right")))
        yield start, stop
        start = stop
