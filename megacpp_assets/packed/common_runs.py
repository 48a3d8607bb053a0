"""Shingles of texts on disk, and the pairs of texts that may share enough of them.

A text's shingles are ordered: first those of one source alone, then the others from the rarest. Two texts that share
`share` of the shorter one's shingles, and whose lengths differ by no more than that, must have a common shingle among
the first half of each (prefix filtering), so no other shingle is looked up. Files are partitioned by shingle, and one
partition is in memory at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import Shingles
from megacpp_assets.contract.disk import naming

_SLOT_BITS: Final = 23
"""Shingles are counted by their upper bits. Two that share a slot look more common than they are, which costs time."""
_PARTITION_RUNS: Final = 1 << 20
_MOST_PARTITIONS: Final = 4096
_PAIRS_AT_ONCE: Final = 1 << 18
_ROUNDING: Final = 1e-6
_RUN: Final = np.dtype([("run", np.uint64), ("text", np.uint32), ("place", np.uint32)])
Indices = NDArray[np.int64]


class CommonRuns:
    """Takes the shingles of texts, source by source, into files of `folder`. Memory is fixed but for 8 bytes a text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "runs"
        self._ends = array("q", [0])
        self._file = self._path.open("w+b")
        self._texts = np.zeros(1 << _SLOT_BITS, np.uint32)
        self._source = np.zeros(1 << _SLOT_BITS, np.uint32)
        self._shared = np.zeros(1 << _SLOT_BITS, np.bool_)

    def close(self) -> None:
        """Close the file of shingles."""
        self._file.close()

    def add(self, source: int, runs: Shingles) -> None:
        """Take the next text's shingles. Texts of one source follow each other."""
        slots = _slots(runs)
        before = self._source[slots]
        self._shared[slots[(before != 0) & (before != source + 1)]] = True
        self._source[slots] = source + 1
        np.add.at(self._texts, slots, 1)
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
        start, end = self._ends[text], self._ends[text + 1]
        with naming(self._path):
            self._file.seek(start * 8)
            return np.frombuffer(self._file.read((end - start) * 8), np.uint64)

    def candidates(self, texts: Indices, share: float) -> Iterator[tuple[Indices, Indices]]:
        """Yield pairs of `texts`, which ascend: (first, second) as two arrays, a pair several times.

        Every pair that shares `share` of the shorter one's shingles is among them, if the shorter has at least `share`
        of the longer one's length.
        """
        partitions = self._partitioned(texts, share)
        lengths = self.lengths
        for path in partitions:
            with naming(path):
                rows = np.fromfile(path, _RUN)
            path.unlink()
            rows = rows[np.argsort(rows["run"], kind="stable")]
            for one, other in _pairs(rows["run"]):
                first, second = rows["text"][one].astype(np.int64), rows["text"][other].astype(np.int64)
                shorter = np.minimum(lengths[first], lengths[second])
                alike = shorter >= share * np.maximum(lengths[first], lengths[second])
                needed = np.ceil(share * shorter - _ROUNDING)
                for text, place in ((first, rows["place"][one]), (second, rows["place"][other])):
                    alike &= place <= lengths[text] - needed
                yield first[alike], second[alike]

    def _partitioned(self, texts: Indices, share: float) -> list[Path]:
        """Write the shingles that are looked up to a file for each partition, by text."""
        self._file.flush()
        count = 1
        while count < _MOST_PARTITIONS and self._ends[-1] / count > _PARTITION_RUNS:
            count *= 2
        paths = [self._folder / f"partition{number}" for number in range(count)]
        held: list[NDArray[np.void]] = []
        size = 0
        for text in texts.tolist():
            rows = self._prefix(text, share)
            held.append(rows)
            size += len(rows)
            if size >= _PARTITION_RUNS:
                _append(paths, held)
                held, size = [], 0
        _append(paths, held)
        return [path for path in paths if path.exists()]

    def _prefix(self, text: int, share: float) -> NDArray[np.void]:
        runs = self.runs(text)
        slots = _slots(runs)
        common = np.flatnonzero(self._shared[slots])
        alone = len(runs) - len(common)
        # A partner may be shorter by `share`, and then shares only `share` of that.
        looked_up = len(runs) - max(1, int(share * share * len(runs) - _ROUNDING)) + 1
        chosen = common[np.argsort(self._texts[slots[common]], kind="stable")[: max(0, looked_up - alone)]]
        rows = np.empty(len(chosen), _RUN)
        rows["run"], rows["text"], rows["place"] = runs[chosen], text, alone + np.arange(len(chosen))
        return rows


def _slots(runs: Shingles) -> Indices:
    return (runs >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)


def _append(paths: list[Path], held: list[NDArray[np.void]]) -> None:
    rows = np.concatenate([np.empty(0, _RUN), *held])
    number = ((rows["run"] >> np.uint64(16)) & np.uint64(len(paths) - 1)).astype(np.int64)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(paths)))
    for path, part in zip(paths, np.split(rows[order], ends[:-1]), strict=True):
        if len(part):
            with naming(path), path.open("ab") as file:
                file.write(part.tobytes())


def _pairs(runs: Shingles) -> Iterator[tuple[Indices, Indices]]:
    """Yield the pairs of places with an equal value in `runs`, which ascend, in portions."""
    earlier = np.arange(len(runs)) - np.searchsorted(runs, runs, side="left")
    ends = np.cumsum(earlier)
    start = 0
    while start < len(runs):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _PAIRS_AT_ONCE, side="right")))
        counts = earlier[start:stop]
        other = np.repeat(np.arange(start, stop), counts)
        within = np.arange(len(other)) - np.repeat(ends[start:stop] - counts - before, counts)
        yield other - np.repeat(counts, counts) + within, other
        start = stop
