"""Finds answers of benchmarks in texts: runs of tokens that a text shares with an item, and where they stand.

Two passes: tokens as they are, then longer runs in which every name is the same token. The second pass finds copies
whose identifiers were renamed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import (
    Runs,
    Shingles,
    runs_in_order,
    token_places,
)
from megacpp_assets.curation.benchmark_sets import Item, is_diff, load_items, without_markers

RUN_TOKENS = 10
"""Tokens of a run, as Qwen2.5-Coder's filter takes them."""
RENAMED_TOKENS = 20
LEAST_RUNS = 8
"""A text, or a stretch of one, with fewer runs is too short: common code looks like it."""
RENAMED_LEAST_RUNS = 24
"""Without names, short code is like other short code: `for (int v = 0; v < v; ++v)` and a call or two."""
FLOW = frozenset("if else for while do switch case return".split())
"""Without names, lists of members, macros and enumerators are alike, so only runs with one of these words count."""


class Answer(NamedTuple):
    """Characters `start` to `end` of a text are of the item `item`."""

    item: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Pass:
    """The runs of all texts of items in one way of reading. `counts` has the number of those that count, by text."""

    texts: Sequence[Shingles]
    counts: NDArray[np.int64]
    shared: Runs
    tokens: int
    least: int
    alike: bool

    @staticmethod
    def of(texts: Sequence[str], tokens: int, least: int, *, alike: bool) -> _Pass:
        runs = [np.unique(runs_in_order(text, tokens, alike=alike)) for text in texts]
        counted = [flow_runs(text, tokens) for text in texts] if alike else runs
        counts = np.array([len(each) for each in counted], dtype=np.int64)
        every = np.concatenate([np.zeros(0, dtype=np.uint64), *counted])
        order = np.argsort(every, kind="stable")
        owners = np.repeat(np.arange(len(runs)), counts)
        return _Pass(runs, counts, Runs(every[order], owners[order]), tokens, least, alike)

    def held(self, text: str, share: float, known: Container[int] = ()) -> list[int]:
        """Return the numbers of the texts of whose runs `text` has at least `share`.

        Without names, `text` must have half of the rest too, because a renamed copy has all of them, and as many of
        the runs that do not count: similar functions share loops and conditions, and not what stands between them.
        The latter is not asked of the numbers in `known`, which the names show.
        """
        share = (1 + share) / 2 if self.alike else share
        numbers, hits, _ = self.shared.shared_with(text, self.tokens, self.alike)
        counts = self.counts[numbers]
        held: list[int] = numbers[(counts >= self.least) & (hits >= share * counts)].tolist()
        if not self.alike or all(number in known for number in held):
            return held
        runs = np.unique(runs_in_order(text, self.tokens, alike=True))
        return [number for number in held if number in known or np.isin(self.texts[number], runs).mean() >= share]

    def stretches(self, text: str, number: int) -> list[tuple[int, int]]:
        """Return the ranges of tokens of `text` whose runs are those of a text of an item.

        Stretches of fewer than `LEAST_RUNS` runs count only where no stretch is longer.
        """
        known = np.isin(runs_in_order(text, self.tokens, alike=self.alike), self.texts[number])
        edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8))).reshape(-1, 2)
        long = edges[edges[:, 1] - edges[:, 0] >= LEAST_RUNS]
        return [(start, end + self.tokens - 1) for start, end in (long if len(long) else edges).tolist()]


def flow_runs(text: str, tokens: int) -> Shingles:
    """Return the different runs of `text` without names that have a word of `FLOW`, ascending."""
    runs = runs_in_order(text, tokens, alike=True)
    flow = np.array([text[start:end] in FLOW for start, end in token_places(text).tolist()], dtype=np.int64)
    before = np.concatenate(([0], np.cumsum(flow)))
    return np.unique(runs[before[tokens : tokens + len(runs)] > before[: len(runs)]])


@dataclass(slots=True)
class Benchmarks:
    """The items of all sets. `short` counts those that are too short to be looked for."""

    names: list[str] = field(default_factory=list)
    short: int = 0
    _owners: list[int] = field(default_factory=list)
    """The number of the item that each text is of."""
    _passes: tuple[_Pass, ...] = ()

    def found_in(self, text: str, share: float) -> list[str]:
        """Return `SET:ID` of each item of whose runs `text` holds at least `share`, in the order of the sets."""
        numbers = {self._owners[number] for _, each in self._readings(text, share) for number in each[1]}
        return [self.names[number] for number in sorted(numbers)]

    def answers_in(self, text: str, share: float) -> list[Answer]:
        """Return where the items stand that `found_in` finds, by position, each range once."""
        found = set()
        for reading, (each, numbers) in self._readings(text, share):
            places = token_places(reading)
            for number in numbers:
                name = self.names[self._owners[number]]
                for first, behind in each.stretches(reading, number):
                    found.add(Answer(name, int(places[first][0]), int(places[behind - 1][1])))
        return sorted(found, key=lambda answer: (answer.start, answer.end, answer.item))

    def _readings(self, text: str, share: float) -> Iterable[tuple[str, tuple[_Pass, list[int]]]]:
        """Yield each way to read `text` that finds items, with the pass and the numbers of the texts that it finds."""
        for reading in (text, without_markers(text)) if self.names and is_diff(text) else (text,):
            known: list[int] = []
            for each in self._passes:
                if numbers := each.held(reading, share, known):
                    known = numbers
                    yield reading, (each, numbers)


def load_benchmarks(sets: Iterable[str]) -> Benchmarks:
    """Return the items of `sets`, lines as sha256sum writes them. Raises what `load_items` raises."""
    return benchmarks_of(load_items(sets))


def benchmarks_of(items: Sequence[Item]) -> Benchmarks:
    """Return the items, ready to be looked for."""
    if not items:
        return Benchmarks()
    texts = [text for item in items for text in item.texts]
    owners = [number for number, item in enumerate(items) for _ in item.texts]
    plain = _Pass.of(texts, RUN_TOKENS, LEAST_RUNS, alike=False)
    renamed = _Pass.of(texts, RENAMED_TOKENS, RENAMED_LEAST_RUNS, alike=True)
    long = {owner for owner, count in zip(owners, plain.counts, strict=True) if count >= LEAST_RUNS}
    return Benchmarks([item.name for item in items], len(items) - len(long), owners, (plain, renamed))
