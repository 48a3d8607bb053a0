"""Chooses headers that units with equal arguments share: those that at least two of them include, compiled once.

Units that are headers themselves are divided into layers: the shared header of a layer includes none of its units,
because a unit whose guard is already set would parse to nothing. The choice reads only texts and parses nothing. A
wrong choice costs time but loses no call, because headers are audited. Equal input in any order gives an equal plan.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain

from megacpp_assets.semantic.commands.modules import is_of_module
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.tested_macros import Step, TestedMacros, steps
from megacpp_assets.semantic.tree.folder import WORK_FOLDER
from megacpp_assets.semantic.tree.includes import directives, include_of, is_guarded, sure_includes

PCH_FOLDER = f"{WORK_FOLDER}/pch"
MIN_UNITS = 4
"""Building and auditing a header costs about as much as it saves for three units."""
_MAX_UNITS = 64
"""The maximum number of units of a header. A changed unit may change the header's text, and then all units are parsed
again.
"""
_MIN_USES = 2
_MIN_SHARE = 0.04
"""The share of units that must include a header of the tree. Its names may cause errors in units that do not."""
_LAYERS = 2
_LAYER_UNITS = 8
"""The minimum number of units of a layer. Units share the toolchain's headers without layers, so a layer saves less."""
_CANDIDATES = 32
"""The number of most included headers of the tree that are tried as the base of a layer."""
_UP = "../" * (PCH_FOLDER.count("/") + 1)
_ODD_NAMES = frozenset({"", ".", ".."})
"""Last components of an include that are not the name of a file."""
_Graph = Mapping[str, AbstractSet[str]]
_Steps = Callable[[str], Sequence[Step]]
_NONE: AbstractSet[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SharedHeader:
    """The text of a header, and the units that share it, in path order."""

    text: str
    units: tuple[Unit, ...]


def shared_headers(units: Sequence[Unit], text_of: Callable[[str], bytes]) -> list[SharedHeader]:
    """Return a header for each group of units that gains from one. `text_of` returns the bytes of a file of the
    tree.

    A header that is inside the precompiled header would be empty as a main file, which is the reason for layers.
    """
    lines_of = cache(lambda path: directives(text_of(path)))
    steps_of = cache(lambda path: tuple(steps(lines_of(path))))
    guarded = {unit.path: is_guarded(lines_of(unit.path)) for unit in units if unit.header}
    names = {posixpath.basename(path) for path in guarded} | _ODD_NAMES
    includes = cache(lambda path: tuple(sure_includes(lines_of(path))))
    groups: dict[tuple[tuple[str, ...], bool], list[Unit]] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: unit.path.encode("utf-8", "surrogateescape")):
        if not {"-include", "-imacros"}.intersection(unit.arguments):
            groups[unit.arguments, unit.header].append(unit)
    shared = []
    parts = [(*key, part) for key, group in sorted(groups.items()) for part in _parts(group)]
    for arguments, header, group in parts:
        if len(group) >= MIN_UNITS:
            search = _Search(arguments, guarded, names)
            uses = _uses([unit.path for unit in group], search, includes)
            for base, layer in _layers(group, uses) if header else [("", tuple(group))]:
                for part, chosen in _agreeing(layer, base, uses, steps_of):
                    early = _early(part, chosen, uses, search, steps_of)
                    sharing = tuple(unit for unit in part if unit not in early or is_of_module(text_of(unit.path)))
                    if len(sharing) >= MIN_UNITS and chosen:
                        shared.append(SharedHeader("".join(_lines(chosen)), sharing))
    return shared


def _agreeing(
    layer: Sequence[Unit], base: str, uses: _Graph, steps_of: _Steps
) -> Iterator[tuple[Sequence[Unit], list[str]]]:
    """Yield the units of a layer with what they share.

    If a header disagrees with others about a macro, the units that include it form a group of their own if they are
    enough. Otherwise it is not shared.
    """
    chosen, odd = _agreed(layer, base, uses, steps_of)
    apart = tuple(unit for unit in layer if odd and odd[0] in _reach(unit.path, uses))
    if len(apart) >= _LAYER_UNITS:
        yield apart, _agreed(apart, base, uses, steps_of, first=odd[0])[0]
        layer = tuple(unit for unit in layer if unit not in apart)
        chosen, _ = _agreed(layer, base, uses, steps_of)
    yield layer, chosen


def _agreed(
    units: Sequence[Unit], base: str, uses: _Graph, steps_of: _Steps, first: str = ""
) -> tuple[list[str], list[str]]:
    """Return the headers that `units` share, and the tree's headers that are left out because of a macro.

    If two headers disagree about a macro, the one that more units include is shared.
    """
    paths = {unit.path for unit in units}
    counts = Counter(target for path in paths for target in _reach(path, uses))
    reached = {target: _own_reach(target, uses) for target in _chosen(paths, base, uses)}
    macros = TestedMacros(reached.values(), steps_of)
    agreed: list[str] = []
    order = sorted(reached, key=lambda target: (target != first, -counts[target], -len(reached[target]), target))
    for target in order:
        if not any(macros.disagree(reached[target], reached[other]) for other in agreed):
            agreed.append(target)
    return agreed, [target for target in order if target not in agreed]


def _early(
    units: Sequence[Unit], chosen: Collection[str], uses: _Graph, search: _Search, steps_of: _Steps
) -> list[Unit]:
    """Return the `units` whose directives show that their meaning would change with `chosen` in front of them."""
    macros = TestedMacros([_own_reach(target, uses) for target in chosen], steps_of)
    reach = cache(lambda target: _own_reach(target, uses))

    def reached(includer: str, rest: bytes) -> AbstractSet[str]:
        include = include_of(rest)
        return reach(search.find(*include, includer)) if include else _NONE

    return [unit for unit in units if macros.is_order_dependent(steps_of(unit.path), partial(reached, unit.path))]


def _own_reach(path: str, uses: _Graph) -> set[str]:
    """Return the files of the tree that `path` certainly includes, and itself."""
    return {target for target in _reach(path, uses) if not target.startswith("<")}


def _parts(group: Sequence[Unit], level: int = 0) -> Iterator[Sequence[Unit]]:
    """Split `group` into parts of bounded size by the bits of paths' hashes.

    So a new path changes only its own part.
    """
    if len(group) <= _MAX_UNITS:
        yield group
        return
    halves: tuple[list[Unit], list[Unit]] = ([], [])
    for unit in group:
        digest = hashlib.sha256(unit.path.encode("utf-8", "surrogateescape")).digest()
        halves[digest[level // 8] >> level % 8 & 1].append(unit)
    for half in halves:
        yield from _parts(half, level + 1)


def _uses(paths: Sequence[str], search: _Search, includes: Callable[[str], tuple[tuple[bool, str], ...]]) -> _Graph:
    """Return the certain includes of `paths` and of every header of the tree that they include."""
    uses: dict[str, frozenset[str]] = {}
    pending = list(paths)
    while pending:
        path = pending.pop()
        if path not in uses:
            uses[path] = frozenset({search.find(*include, path) for include in includes(path)} - {""})
            pending += [target for target in uses[path] if not target.startswith("<")]
    return uses


def _layers(group: Sequence[Unit], uses: _Graph) -> list[tuple[str, tuple[Unit, ...]]]:
    """Return the units of a group by the header of the tree that they share; "" for the rest."""
    users: dict[str, set[str]] = defaultdict(set)
    for path in uses:
        for target in uses[path]:
            users[target].add(path)
    layers: list[tuple[str, tuple[Unit, ...]]] = []
    rest = list(group)
    while len(layers) < _LAYERS:
        base, above = _base({unit.path for unit in rest}, uses, users)
        if len(above) < _LAYER_UNITS:
            break
        layers.append((base, tuple(unit for unit in rest if unit.path in above)))
        rest = [unit for unit in rest if unit.path not in above]
    return [*layers, ("", tuple(rest))]


def _base(paths: AbstractSet[str], uses: _Graph, users: Mapping[str, set[str]]) -> tuple[str, set[str]]:
    """Return the header that saves `paths` most parses of headers of the tree, and the paths that include it."""
    counts = {target: len(users[target] & paths) for target in users if not target.startswith("<")}
    best: tuple[int, str, set[str]] = (0, "", set())
    for base in sorted(counts, key=lambda target: (-counts[target], target))[:_CANDIDATES]:
        below = _reach(base, uses)
        above = (_reach(base, users) & paths) - below
        best = max(best, (sum(not path.startswith("<") for path in below) * len(above), base, above))
    return best[1:]


def _chosen(paths: AbstractSet[str], base: str, uses: _Graph) -> set[str]:
    """Return `base`, the toolchain's headers that two of `paths` include, and the tree's headers that enough of them
    include. Headers that include one of `paths` are left out.
    """
    reached = Counter(target for path in paths for target in _reach(path, uses) if target.startswith("<"))
    direct = Counter(target for path in paths for target in uses[path] if not target.startswith("<"))
    chosen = {target for target, count in reached.items() if count >= _MIN_USES}
    chosen |= {target for target, count in direct.items() if count >= max(_MIN_USES, _MIN_SHARE * len(paths))}
    return {target for target in {*chosen, base} - {""} if not _reach(target, uses) & paths}


def _reach(start: str, edges: _Graph) -> set[str]:
    """Return `start` and everything that can be reached from it by `edges`."""
    reached = {start}
    pending = [start]
    while pending:
        fresh = edges.get(pending.pop(), _NONE) - reached
        reached |= fresh
        pending += edges.keys() & fresh
    return reached


def outside_part(text: str) -> str:
    """Return the first part of a shared header's text, which includes no file of the tree."""
    return text.partition('#include "')[0]


class _Search:
    """Resolves includes under `arguments`: to `<spelling>` for headers outside of the tree, or to a header's path.

    `guarded` has every header of the tree and whether it has a guard. `names` are their file names and `_ODD_NAMES`.
    """

    def __init__(self, arguments: Sequence[str], guarded: Mapping[str, bool], names: AbstractSet[str]) -> None:
        self._guarded = guarded
        self._names = names
        options = ("-iquote", "-I", "-isystem", "-idirafter")
        folders = [[part[len(name) :] for part in arguments if part.startswith(name)] for name in options]
        self._folders = list(chain(*folders[1:]))
        self._quoted = [*folders[0], *self._folders]

    def find(self, quoted: bool, spelling: str, includer: str) -> str:
        """Return the target of the include; "" for a header without a guard, or one that cannot be named safely."""
        path = self._path(quoted, spelling, includer) if posixpath.basename(spelling) in self._names else None
        if path is None:
            return "" if {"", ".."}.intersection(spelling.split("/")) else f"<{spelling}>"
        return path if self._guarded[path] and '"' not in path else ""

    def _path(self, quoted: bool, spelling: str, includer: str) -> str | None:
        folders = [posixpath.dirname(includer), *self._quoted] if quoted else self._folders
        paths = (posixpath.normpath(posixpath.join(folder, spelling)) for folder in folders)
        return next((path for path in paths if path in self._guarded), None)


def _lines(targets: Collection[str]) -> Iterator[str]:
    """Yield the include lines. The toolchain's headers come first, because the tree's headers may need them."""
    for target in sorted(targets, key=lambda target: (not target.startswith("<"), target)):
        if target.startswith("<"):
            # A header that this system lacks is missing for the units too. It must not make the other headers unusable.
            yield f"#if __has_include({target})\n#include {target}\n#endif\n"
        else:
            yield f'#include "{_UP}{target}"\n'
