"""Chooses the files that are parsed again inside of a file that includes them: they have errors by themselves, or only
a file that defines a macro first sees all of them.

Many headers of C are complete only behind others, and some sources only inside of another one. In `namespace
LIB_NAMESPACE {` without the macro a header has no error, and all of its names are others than those that are used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from clang.cindex import CursorKind
from numpy.typing import NDArray

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.planning import IncludersQuestion, plan_within
from megacpp_assets.semantic.parsing.worker import Limits, UnitResult

_UNITS_PER_INCOMPLETE = 2
"""At most one of so many units is parsed again because of errors, which most headers of some C libraries have."""
_UNITS_PER_PARTIAL = 4
"""If at most one of so many units is parsed again, headers without errors that are seen in part are among them."""
_SEEN_PER_LOST = 8
"""A second parse may lose one byte, and one symbol, that the first one saw for so many that only the second one sees.
Where a file renames what it includes, as with `#define tiny my_tiny`, all symbols are others."""

_MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
"""The name of a namespace that is a macro which the parser could not expand."""

_NOTHING = np.empty(0, dtype=np.uint64)
_Ranges = Sequence[tuple[int, int]]


class First(NamedTuple):
    """How bad the first parse of a unit was, the byte ranges that the preprocessor dropped, the symbols that it
    declares if it has no errors, the number of its namespaces with the name of a macro, and the milliseconds of CPU
    time that it took."""

    is_failed: bool
    errors: int
    missing: int
    dropped: _Ranges
    declared: NDArray[np.uint64]
    unexpanded: int
    cpu_ms: int


class FirstParses:
    """The first parses of the units of a tree that may be incomplete, with which second parses are compared."""

    def __init__(self) -> None:
        self._first: dict[str, First] = {}

    def note(self, result: UnitResult) -> None:
        """Record the first parse of a unit."""
        is_failed, errors = result.faults
        dropped, unexpanded = result.file.skipped_ranges, _unexpanded(result.file)
        if is_failed or errors or dropped or unexpanded:
            declared = _NOTHING if is_failed or errors else _declared(result.file)
            first = First(is_failed, errors, result.missing, dropped, declared, unexpanded, result.cpu_ms)
            self._first[result.file.path] = first

    def within(self, tree: Path, units: Sequence[Unit], executor: BatchExecutor, limits: Limits) -> Sequence[Unit]:
        """Return those of `units` that may be complete inside of a file without errors that includes them, each inside
        of such a file.

        These are units that may only lack what is included before them, since none of their errors is about an included
        file that does not exist: those with the most errors, then those whose namespaces have the name of a macro. Then
        come headers of which the most bytes are dropped.
        """
        first = self._first
        broken = frozenset(path for path, each in first.items() if each.is_failed or each.errors or each.unexpanded)
        wanted = [path for path in broken if not first[path].is_failed and not first[path].missing]
        wanted.sort(key=lambda path: (-first[path].errors, path.encode("utf-8", "surrogateescape")))
        part = [unit.path for unit in units if unit.header and unit.path in first.keys() - broken]
        part.sort(key=lambda path: (-_bytes(first[path].dropped), path.encode("utf-8", "surrogateescape")))
        most = len(units) // _UNITS_PER_INCOMPLETE
        place = {path: number for number, path in enumerate((*wanted[:most], *part))}
        question = IncludersQuestion(str(tree), units, broken, frozenset(wanted[:most]), frozenset(part), limits)
        found = plan_within(question, executor) if place else []
        found.sort(key=lambda unit: place[unit.path])
        partial = len(units) // _UNITS_PER_PARTIAL
        return [unit for number, unit in enumerate(found) if number < partial or unit.path in broken]

    def is_better(self, result: UnitResult) -> bool:
        """Return whether a second parse has fewer faults than the first, or as many and drops less."""
        first = self._first[result.file.path]
        faults = (*result.faults, _unexpanded(result.file))
        if faults != (*first[:2], first.unexpanded):
            return faults < (*first[:2], first.unexpanded)
        dropped = result.file.skipped_ranges
        seen, lost = _bytes_without(first.dropped, dropped), _bytes_without(dropped, first.dropped)
        declared = _declared(result.file)
        new, old = np.setdiff1d(declared, first.declared), np.setdiff1d(first.declared, declared)
        return seen > _SEEN_PER_LOST * lost and len(new) >= _SEEN_PER_LOST * len(old)

    def cost(self, result: UnitResult) -> int:
        """Return the milliseconds of CPU time of both parses."""
        return self._first[result.file.path].cpu_ms + result.cpu_ms


def _declared(file: ParsedFile) -> NDArray[np.uint64]:
    """Return the hashes of the symbols that a file declares, ascending."""
    if file.cursors is None:
        return _NOTHING
    return np.unique(file.symbols.usr[np.unique(file.cursors.declares[file.cursors.declares >= 0])])


def _unexpanded(file: ParsedFile) -> int:
    """Return the number of namespaces in a file that have the name of a macro."""
    symbols, kind = file.symbols, CursorKind.NAMESPACE.value
    named = [row for row in np.flatnonzero(symbols.kind == kind).tolist() if _MACRO.fullmatch(symbols.spelling[row])]
    return int(np.isin(file.cursors.declares, named).sum()) if named and file.cursors is not None else 0


def _bytes(ranges: _Ranges) -> int:
    """Return the number of bytes that one of `ranges` has."""
    return _bytes_without(ranges, ())


def _bytes_without(ranges: _Ranges, others: _Ranges) -> int:
    """Return the number of bytes that one of `ranges` has and none of `others`."""
    events = sorted((*_edges(ranges, 0), *_edges(others, 1)))
    depth, count, last = [0, 0], 0, 0
    for place, change, which in events:
        count += place - last if depth[0] and not depth[1] else 0
        depth[which] += change
        last = place
    return count


def _edges(ranges: _Ranges, which: int) -> list[tuple[int, int, int]]:
    return [(place, change, which) for pair in ranges for place, change in zip(pair, (1, -1), strict=True)]
