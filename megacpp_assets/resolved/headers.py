"""Headers of the toolchain that units of a history share: compiled once, and used as long as nothing changes them.

Most of a unit's cost is the toolchain's headers, which no commit changes. A header that is shared has none of the
tree's files inside. `shared_headers` chooses it from the texts of one tree, so it depends on no other commit.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.precompiled import PCH_FOLDER, SharedHeader, outside_part
from megacpp_assets.semantic.parsing.worker import Batch, Header, build_header
from megacpp_assets.semantic.tree.tree_contents import TreeContents

_PATIENCE_S: Final = 60.0
_LINE_END: Final = "#endif\n"


class BuiltHeader(NamedTuple):
    """A compiled header: None if it cannot be compiled. `files` are what it read; `state` what the tree could add.

    `machines`: the machine may be the reason why it was not compiled.
    """

    header: Header | None
    files: tuple[str, ...]
    state: str
    machines: bool


@dataclass(slots=True)
class ToolchainHeaders:
    """The headers that the units of the tree at `plain.tree` share. `built` counts those that were compiled."""

    plain: Batch
    crew: Crew
    built: int = 0
    _texts: Mapping[str, str] = field(default_factory=dict)
    _known: dict[str, BuiltHeader] = field(default_factory=dict)

    def plan(self, shared: Sequence[SharedHeader]) -> None:
        """Set what the units of the tree share: one header for all units with the same arguments.

        What could not be compiled is tried again, as the tree may have changed.
        """
        self._known = {name: known for name, known in self._known.items() if known.header is not None}
        lines: dict[tuple[str, ...], set[str]] = defaultdict(set)
        paths: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for header in shared:
            arguments = header.units[0].arguments
            lines[arguments].update(outside_part(header.text).split(_LINE_END))
            paths[arguments] += [unit.path for unit in header.units]
        self._texts = {
            path: "".join(f"{line}{_LINE_END}" for line in sorted(lines[arguments]) if line)
            for arguments, group in paths.items()
            for path in group
        }

    def text(self, unit: Unit) -> str:
        """Return the text of the header that `unit` shares; "" for none."""
        return "" if unit.through else self._texts.get(unit.path, "")

    def ready(self, units: Iterable[Unit], contents: TreeContents) -> dict[str, BuiltHeader]:
        """Return the header of each of `units` that shares one, by path. New and changed ones are compiled."""
        asked = {unit.path: (self._name(unit), unit) for unit in units if self.text(unit)}
        new = {name: unit for name, unit in asked.values() if not self._is_current(name, contents)}
        batches = [
            replace(self.plain, units=(unit,), header=Header(self.text(unit), f"{PCH_FOLDER}/{name}.pch"))
            for name, unit in new.items()
        ]
        timeout_s = _PATIENCE_S + self.plain.limits.wall_s
        for outcome in self.crew.executor.run(build_header, batches, timeout_s=timeout_s) if batches else ():
            name = list(new)[outcome.index]
            found = [path for pair in outcome.value.inclusions for path in pair] if outcome.value else []
            names = {path.decode("utf-8", "surrogateescape") for path in found}
            files = tuple(sorted(path for path in names if not path.startswith(PCH_FOLDER)))
            # A file of the tree in it would change with commits.
            usable = outcome.value if all(path.startswith("/") for path in files) else None
            self._known[name] = BuiltHeader(usable, files, contents.state((), files), bool(outcome.failure))
            self.built += 1
        return {path: self._known[name] for path, (name, _) in asked.items()}

    def _is_current(self, name: str, contents: TreeContents) -> bool:
        """Return whether a header is compiled, and no file of the tree could be included by it that could not then."""
        known = self._known.get(name)
        return known is not None and not known.machines and contents.state((), known.files) == known.state

    def _name(self, unit: Unit) -> str:
        asked = "\0".join((*unit.arguments, self.text(unit)))
        return hashlib.sha256(asked.encode("utf-8", "surrogateescape")).hexdigest()[:32]
