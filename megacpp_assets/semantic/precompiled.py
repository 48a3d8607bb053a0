"""Which headers units of equal arguments share: those that at least two of them include, compiled once for all.

Only texts are read, nothing is parsed. What is chosen wrongly costs time, never a call: headers are audited where they
are used. Equal input gives an equal plan, whatever the order of the units.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from megacpp_assets.semantic.plan import WORK_FOLDER, Unit

PCH_FOLDER = f"{WORK_FOLDER}/pch"
MIN_UNITS = 4
"""Building and auditing a header costs about as much as it saves three units."""
_MIN_USES = 2
_UP = "../" * (PCH_FOLDER.count("/") + 1)
_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.S)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*([a-z_]+)[ \t]*([^\r\n]*)", re.M)
_TARGET = re.compile(r"""([<"])([^<>"\\]+)[>"]""")
_CONFIGURABLE = re.compile(rb"[A-Za-z]\w*")


@dataclass(frozen=True, slots=True)
class SharedHeader:
    """The text of a header, and the units that share it, in path order."""

    text: str
    units: tuple[Unit, ...]


def shared_headers(units: Sequence[Unit], text_of: Callable[[str], bytes]) -> list[SharedHeader]:
    """A header for each group of units that gains from one; `text_of` gives the bytes of a file of the tree.

    A header of the tree would be empty as a main file after it was precompiled: headers share what is outside only.
    """
    headers = {unit.path: text_of(unit.path) for unit in units if unit.header}
    guarded = {path for path, text in headers.items() if _is_guarded(text)}
    groups: dict[tuple[tuple[str, ...], bool], list[Unit]] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: unit.path.encode("utf-8", "surrogateescape")):
        if not {"-include", "-imacros"}.intersection(unit.arguments):
            groups[unit.arguments, unit.header].append(unit)
    shared = []
    for (arguments, header), group in sorted(groups.items()):
        search = _Search(arguments, headers.keys(), guarded)
        uses = Counter(
            target
            for unit in group
            for target in {search.find(*include, unit.path) for include in _sure_includes(text_of(unit.path))}
            if target and not (header and target in guarded)
        )
        chosen = [target for target, count in uses.items() if count >= _MIN_USES]
        if len(group) >= MIN_UNITS and chosen:
            shared.append(SharedHeader("".join(_lines(chosen)), tuple(group)))
    return shared


def outside_part(text: str) -> str:
    """What of a shared header's text is no file of the tree; it stands first."""
    return text.partition('#include "')[0]


@dataclass(frozen=True, slots=True)
class _Search:
    """What an include means under `arguments`: `<spelling>` of what the tree lacks, or a guarded header's path."""

    arguments: tuple[str, ...]
    headers: Collection[str]
    guarded: Collection[str]

    def find(self, quoted: bool, spelling: str, includer: str) -> str:
        """ "" if it is a header of the tree that may mean something else each time, or cannot be named safely."""
        options = ("-iquote", "-I", "-isystem", "-idirafter")
        folders = [posixpath.dirname(includer)] if quoted else []
        for option in options if quoted else options[1:]:
            folders += [argument[len(option) :] for argument in self.arguments if argument.startswith(option)]
        paths = (posixpath.normpath(posixpath.join(folder, spelling)) for folder in folders)
        path = next((path for path in paths if path in self.headers), None)
        if path is None:
            return "" if {"", ".."}.intersection(spelling.split("/")) else f"<{spelling}>"
        return path if path in self.guarded and '"' not in path else ""


def _lines(targets: Sequence[str]) -> Iterator[str]:
    """Headers from outside first: that order cannot matter to them, and the tree's own may need them."""
    for target in sorted(targets, key=lambda target: (not target.startswith("<"), target)):
        if target.startswith("<"):
            # What this system lacks is missing for the units too; it must not spoil the rest.
            yield f"#if __has_include({target})\n#include {target}\n#endif\n"
        else:
            yield f'#include "{_UP}{target}"\n'


def _directives(text: bytes) -> list[tuple[bytes, bytes]]:
    return [(match[1], match[2].strip()) for match in _DIRECTIVE.finditer(_COMMENT.sub(b" ", text))]


def _is_guarded(text: bytes) -> bool:
    """Whether a second inclusion gives nothing."""
    lines = _directives(text)
    first = list(takewhile(lambda line: line[0] == b"pragma", lines))
    following = lines[len(first) : len(first) + 2]
    guard = len(following) == 2 and following[0][0] == b"ifndef" and following[1][0] == b"define"
    return (b"pragma", b"once") in lines or (guard and following[1][1].split()[:1] == following[0][1].split()[:1])


def _sure_includes(text: bytes) -> Iterator[tuple[bool, str]]:
    """(quoted, spelling) of includes under no condition but `#ifndef` of a macro that is no compiler's or system's."""
    conditions: list[bool] = []
    for name, rest in _directives(text):
        if name in {b"if", b"ifdef", b"ifndef"}:
            conditions.append(name == b"ifndef" and _CONFIGURABLE.fullmatch(rest) is not None)
        elif name in {b"else", b"elif", b"elifdef", b"elifndef"} and conditions:
            conditions[-1] = False
        elif name == b"endif" and conditions:
            conditions.pop()
        elif name == b"include" and all(conditions):
            target = _TARGET.match(rest.decode("utf-8", "replace"))
            if target and target[2].isprintable():
                yield target[1] == '"', target[2]
