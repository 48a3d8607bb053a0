"""Chooses the unit in which each fragment is parsed: a file that only makes sense where it is included (`ops.def`).

A source that two or more sources of its own folder include is a fragment too: they use it as a template, each with
macros of its own. One that a single source includes is not, as a test may include the source that it tests.

A file that has errors by itself is parsed again inside of a file without errors that includes it: many headers of C
need what is included before them. So is a header of which a part is only for files that define a macro before they
include it, as `#define TINY_IMPLEMENTATION`.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from megacpp_assets.contract.sources.source_file import is_fragment
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.tree.includes import (
    directives,
    include_of,
    include_spellings,
    is_guarded,
    switched_includes,
)

_SEARCHED = ("-iquote", "-I", "-isystem", "-idirafter")
_SOURCE = re.compile(rb'#[ \t]*include[ \t]*"([^"\n]*\.(?:c|cc|cpp|cxx|C))"')
_NAME = re.compile(rb"[A-Za-z_]\w*+")
_CONDITIONS = (b"if", b"ifdef", b"ifndef", b"elif")
_LEAST_USERS = 2
"""The number of sources that include another one as a template."""


def within_includers(units: Sequence[Unit], text_of: Callable[[str], bytes]) -> list[Unit]:
    """Return `units`, with each fragment parsed in a unit that includes it, if there is one.

    If several units include it, one without a condition is preferred, then one that is no fragment itself, then a
    source to a header, then the first path.
    A fragment that another fragment includes is parsed in the unit of that fragment.
    """
    fragments = {unit.path for unit in units if is_fragment(unit.path)} | _templates(units, text_of)
    if not fragments:
        return list(units)
    includers = _includers(units, fragments, text_of)
    return [_within(unit, includers, fragments) if unit.path in fragments else unit for unit in units]


def within_sound(
    units: Sequence[Unit], broken: AbstractSet[str], wanted: AbstractSet[str], text_of: Callable[[str], bytes]
) -> list[Unit]:
    """Return the units of the `wanted` paths, each inside of a unit that includes it, directly or not, and that is not
    `broken`. Those that only broken units include are left out, and headers without a guard: a list of calls of a macro
    is included several times, with another meaning each time.

    Of `#ifdef WITH_TLS` around an include the macro is defined: modules of a library are often off by default.
    """
    chosen = [unit for unit in units if unit.path in wanted and not unit.through]
    chosen = [unit for unit in chosen if not unit.header or is_guarded(directives(text_of(unit.path)))]
    includers = _includers(units, broken, text_of, defines=True) if chosen else {}
    found = (_within(unit, includers, broken) for unit in chosen)
    return [unit for unit in found if unit.through]


def within_configuring(
    units: Sequence[Unit], broken: AbstractSet[str], wanted: AbstractSet[str], text_of: Callable[[str], bytes]
) -> list[Unit]:
    """Return the units of the `wanted` headers, each inside of a unit that is not `broken` and that defines macros
    before it includes the header, on which conditions of the header depend. Headers without such a unit are left out.

    Of several units the one with the most such macros is chosen, then the one with the fewest includes before that of
    the header, which may be included by those without the macros.
    """
    chosen = {unit.path: unit for unit in units if unit.path in wanted and unit.header and not unit.through}
    asked = {path: _asked(directives(text_of(path))) for path in chosen}
    names = {posixpath.basename(path) for path in chosen}
    best: dict[str, tuple[tuple[int, int, bytes], Unit]] = {}
    for unit in units if chosen else ():
        text = b"" if unit.path in broken or unit.through else text_of(unit.path)
        if not 0 <= text.find(b"define") < text.rfind(b"include"):
            continue
        for place, (include, defined) in enumerate(_defined_before(directives(text))):
            for path in _meant(unit, *include, chosen.keys()) if posixpath.basename(include[1]) in names else ():
                rank = (-len(defined & asked[path]), place, unit.path.encode("utf-8", "surrogateescape"))
                if rank[0] and (path not in best or rank < best[path][0]):
                    best[path] = rank, unit
    return [
        replace(chosen[path], arguments=user.arguments, mode=user.mode, through=user.path)
        for path, (_, user) in sorted(best.items())
    ]


def _asked(lines: Sequence[tuple[bytes, bytes]]) -> AbstractSet[bytes]:
    """Return the names in the conditions of a file with these directives."""
    return {word for name, rest in lines if name in _CONDITIONS for word in _NAME.findall(rest)}


def _defined_before(lines: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[tuple[bool, str], set[bytes]]]:
    """Yield each include of a file with these directives, with the macros that the file defines before it."""
    defined: set[bytes] = set()
    for name, rest in lines:
        if name == b"define" and (macro := _NAME.match(rest)):
            defined = defined | {macro[0]}
        elif name == b"include" and (target := include_of(rest)):
            yield target, defined


def _templates(units: Sequence[Unit], text_of: Callable[[str], bytes]) -> set[str]:
    """Return the sources that several others of their folder include."""
    sources = {unit.path for unit in units if not unit.header}
    users: dict[str, set[str]] = defaultdict(set)
    for path in sources:
        for name in _SOURCE.findall(text_of(path)):
            included = posixpath.normpath(posixpath.join(posixpath.dirname(path), name.decode(errors="replace")))
            if included in sources and included != path and posixpath.dirname(included) == posixpath.dirname(path):
                users[included].add(path)
    return {path for path, found in users.items() if len(found) >= _LEAST_USERS}


class _Includer(NamedTuple):
    """A unit that includes a fragment, and the macros that are defined for it."""

    unit: Unit
    macros: Sequence[str]


_Ranked = Mapping[str, Sequence[_Includer]]
"""The units that include each fragment, the best one first."""


def _includers(
    units: Sequence[Unit], fragments: AbstractSet[str], text_of: Callable[[str], bytes], *, defines: bool = False
) -> _Ranked:
    """Return the units that include each of `fragments`. An include that only needs macros is as good as one without a
    condition if it `defines` them."""
    names = {posixpath.basename(path) for path in fragments}
    found: dict[str, dict[tuple[bool, bool, bool, bytes], _Includer]] = defaultdict(dict)
    for unit in units:
        text = text_of(unit.path)
        includes = {each for each in include_spellings(text) if posixpath.basename(each[1]) in names}
        macros_of = _macros_of(text) if includes else {}
        for include in includes:
            macros = macros_of.get(include)
            rank = (
                macros is None or (macros != () and not defines),
                unit.path in fragments,
                unit.header,
                unit.path.encode("utf-8", "surrogateescape"),
            )
            for path in _meant(unit, *include, fragments):
                found[path][rank] = _Includer(unit, macros if macros and defines else ())
    return {
        path: [unit for _, unit in sorted(ranked.items(), key=lambda item: item[0])] for path, ranked in found.items()
    }


def _macros_of(text: bytes) -> Mapping[tuple[bool, str], Sequence[str]]:
    """Return the macros that must be on for each include of a file, the fewest of them; not for others."""
    found: dict[tuple[bool, str], Sequence[str]] = {}
    for include, macros in switched_includes(directives(text)):
        found[include] = min(found.get(include, macros), macros, key=len)
    return found


def _meant(unit: Unit, quoted: bool, spelling: str, fragments: Container[str]) -> Iterator[str]:
    folders = [part[len(option) :] for option in _SEARCHED for part in unit.arguments if part.startswith(option)]
    own = [posixpath.dirname(unit.path)] if quoted else []
    paths = (posixpath.normpath(posixpath.join(folder, spelling)) for folder in (*own, *folders))
    yield from (path for path in paths if path in fragments and path != unit.path)


def _within(unit: Unit, includers: _Ranked, fragments: AbstractSet[str]) -> Unit:
    """Return `unit` inside of a unit that includes it, directly or not, and is no fragment; `unit` if there is none.

    The macros that must be on for its includes are defined.
    """
    seen, macros = {unit.path}, list[str]()
    around = unit
    while above := next((each for each in includers.get(around.path, ()) if each.unit.path not in seen), None):
        around = above.unit
        seen.add(around.path)
        macros += above.macros
        if around.path not in fragments:
            defined = (f"-D{macro}" for macro in dict.fromkeys(macros))
            return replace(unit, arguments=(*around.arguments, *defined), mode=around.mode, through=around.path)
    return unit
