"""Caches the facts of units over the trees of a history.

The key is the arguments of a unit, the contents of all files that it includes, and the toolchain. So a commit that does
not change these causes no parse.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import orjson

from megacpp_assets.resolved.facts import Facts
from megacpp_assets.resolved.headers import ToolchainHeaders
from megacpp_assets.resolved.parse import Resolved, resolve
from megacpp_assets.semantic.commands.compiler_view import write_view
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.planning import Plan
from megacpp_assets.semantic.parsing.worker import Batch
from megacpp_assets.semantic.tree.tree_contents import TreeContents, header_state
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.caching.code import code_identity

_KEPT_FACTS: Final = 128
"""The number of units whose facts are kept in memory: those of the latest commits."""
_NO_UNIT: Final = Facts(reason="no unit")

_Reads = Sequence[Sequence[str]]
"""The files that a unit read: those in the tree, then those outside, each ascending."""


class Units:
    """The units of the tree at `plain.tree`. `parsed` and `reused` count requested units."""

    def __init__(self, plain: Batch, crew: Crew, store: Cache) -> None:
        self.parsed = 0
        self.reused = 0
        self._plain = plain
        self._crew = crew
        self._headers = ToolchainHeaders(plain, crew)
        self._store = store
        self._units: Mapping[str, Unit] = {}
        self._reads: dict[str, _Reads] = {}
        self._facts: OrderedDict[str, Facts] = OrderedDict()
        self._contents: TreeContents | None = None
        self._base = self._identity()
        write_view(plain.tree, plain.toolchain.visible)

    @property
    def headers_built(self) -> int:
        """The number of compiled headers."""
        return self._headers.built

    def _identity(self) -> bytes:
        toolchain = self._plain.toolchain
        facts = {
            "code": code_identity("megacpp_assets.resolved.parse"),
            "compiler": dict(toolchain.identity),
            "headers": header_state(toolchain.header_roots, toolchain.library),
            "visible": toolchain.visible,
            "limits": asdict(self._plain.limits),
        }
        return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)

    def follow(self, written: Iterable[str], *, moved: bool) -> None:
        """Note that the files `written` changed. `moved`: files were added or removed."""
        if self._contents is None:
            return
        if moved:
            self._contents = None
        else:
            self._contents.forget(written)

    def plan(self, plan: Plan) -> None:
        """Set the units of the tree, and the headers that they share."""
        self._units = {unit.path: unit for unit in plan.units}
        self._headers.plan(plan.shared)

    def get(self, paths: Collection[str]) -> dict[str, Facts]:
        """Return the facts of each of `paths` from memory or the cache, or parse them."""
        found: dict[str, Facts] = {}
        missing: list[Unit] = []
        for path in paths:
            unit = self._units.get(path)
            facts = self._known(unit) if unit else _NO_UNIT
            if facts is None and unit is not None:
                missing.append(unit)
            elif facts is not None:
                self.reused += unit is not None
                found[path] = facts
        headers = self._headers.ready(missing, self._tree()) if missing else {}
        for unit, result in resolve(missing, self._plain, self._crew, headers):
            self.parsed += 1
            found[unit.path] = result.facts
            self._keep(unit, result)
        return {path: found[path] for path in paths}

    def _known(self, unit: Unit) -> Facts | None:
        key = self._key(unit)
        if key not in self._reads:
            reads = self._store.get(key)
            if reads is None:
                return None
            self._reads[key] = orjson.loads(reads)
        outcome = self._outcome(key)
        if outcome not in self._facts:
            data = self._store.get(outcome)
            if data is None:
                return None
            self._remember(outcome, Facts.from_bytes(data))
        self._facts.move_to_end(outcome)
        return self._facts[outcome]

    def _keep(self, unit: Unit, result: Resolved) -> None:
        """Store a result, unless the machine may have caused it."""
        if result.machines:
            return
        contents = self._tree()
        reads = {unit.path, *(result.reads or contents.reach({unit.path, unit.parsed}))}
        if unit.through:
            reads |= contents.reach({unit.path, unit.parsed})
        inside, outside = ([path for path in sorted(reads) if path.startswith("/") == far] for far in (False, True))
        key = self._key(unit)
        self._reads[key] = [inside, outside]
        outcome = self._outcome(key)
        self._store.put(outcome, result.facts.to_bytes())
        self._store.put(key, orjson.dumps(self._reads[key]))
        self._remember(outcome, result.facts)

    def _remember(self, outcome: str, facts: Facts) -> None:
        self._facts[outcome] = facts
        if len(self._facts) > _KEPT_FACTS:
            self._facts.popitem(last=False)

    def _key(self, unit: Unit) -> str:
        facts = orjson.dumps(
            {"unit": asdict(unit), "header": self._headers.text(unit), "content": self._tree().digest(unit.path)}
        )
        return hashlib.sha256(self._base + facts).hexdigest()

    def _outcome(self, key: str) -> str:
        inside, outside = self._reads[key]
        return hashlib.sha256(f"{key} {self._tree().state(inside, outside)}".encode()).hexdigest()

    def _tree(self) -> TreeContents:
        if self._contents is None:
            self._contents = TreeContents(Path(self._plain.tree))
        return self._contents
