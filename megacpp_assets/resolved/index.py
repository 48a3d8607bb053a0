"""An index of the facts of several files: the callers, the definition and the overrides of a symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from megacpp_assets.resolved.facts import CALLS, OVERLOAD, Facts, Function, ResolvedSymbol


class SymbolCall(NamedTuple):
    """A function of the file at `path` calls a symbol."""

    path: str
    function: Function
    confidence: str


@dataclass(slots=True)
class Index:
    """The facts of the files that were added. Symbols are identified by the hash of their USR."""

    files: dict[str, Facts] = field(default_factory=dict)
    _calls: dict[int, list[SymbolCall]] = field(default_factory=dict)
    _defined: dict[int, tuple[str, Function, ResolvedSymbol]] = field(default_factory=dict)
    _over: dict[int, dict[int, None]] = field(default_factory=dict)
    _under: dict[int, dict[int, None]] = field(default_factory=dict)

    def add(self, files: Mapping[str, Facts]) -> None:
        """Add new files in path order."""
        for path, facts in sorted(files.items()):
            if path not in self.files:
                self.files[path] = facts
                self._add(path, facts)

    def _add(self, path: str, facts: Facts) -> None:
        for function in facts.functions:
            symbol = facts.symbols[function.symbol]
            self._defined.setdefault(symbol.usr, (path, function, symbol))
        for use in facts.uses:
            if use.kind == CALLS:
                call = SymbolCall(path, facts.functions[use.function], use.confidence)
                self._calls.setdefault(facts.symbols[use.symbol].usr, []).append(call)
        for method, overridden in facts.overrides:
            over, under = facts.symbols[method].usr, facts.symbols[overridden].usr
            self._over.setdefault(under, {})[over] = None
            self._under.setdefault(over, {})[under] = None

    def definition(self, usr: int) -> tuple[str, Function, ResolvedSymbol] | None:
        """Return (path, function, symbol) of the definition of a symbol."""
        return self._defined.get(usr)

    def calls_of(self, usr: int) -> Iterator[SymbolCall]:
        """Yield the calls of a symbol, and with confidence OVERLOAD those of the methods that it overrides."""
        yield from self._calls.get(usr, ())
        for above in _closure(usr, self._under):
            yield from (call._replace(confidence=OVERLOAD) for call in self._calls.get(above, ()))

    def overriding(self, usr: int) -> list[int]:
        """Return the overrides of a method, nearest first."""
        return _closure(usr, self._over)


def _closure(start: int, edges: Mapping[int, Mapping[int, None]]) -> list[int]:
    found: dict[int, None] = {}
    waiting: Sequence[int] = [start]
    while waiting:
        waiting = [each for one in waiting for each in edges.get(one, ()) if each not in found and each != start]
        found |= dict.fromkeys(waiting)
    return list(found)
