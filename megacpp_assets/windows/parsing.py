"""The functions of one declaration and the calls in them, by tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.nodes import Node, Role
from megacpp_assets.semantic.outline.unparsed.treesitter import has_errors, syntax_calls, syntax_outline
from megacpp_assets.versions.syntax import without_macros, without_open_conditionals

_LONGEST_NAME: Final = 200
_LONGEST_HEAD: Final = 1000
_MACRO_CALL: Final = re.compile(rb"\w+\([^(){};]*\)(?=\s*\{)")

_SCOPE: Final = re.compile(
    rb"""//[^\n]*|/\*.*?\*/|R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)"|"(?:\\.|[^"\\\n])*"
    |'(?:\\[^\n][^'\n]{0,8}|[^'\\\n]{1,4})'|;|\{|\}""",
    re.DOTALL | re.VERBOSE,
)
"""Comments and literals, whose marks do not count, and the marks between declarations.

Each alternative begins with a literal, so that Python's search skips other characters fast.
"""
_NAMED: Final = re.compile(
    rb"""\bnamespace\s+(?P<namespace>\w+(?:\s*::\s*\w+)*)\s*\Z
    |\b(?:class|struct|union)\s+(?P<class>\w+)(?:\s*<[^()]*>)?(?:\s+final)?\s*(?::(?!:)[^()]*)?\Z""",
    re.VERBOSE,
)
"""The end of the text before the brace of a named scope."""


class NamedCall(NamedTuple):
    """The last component of a called name, and the scope as `Call.scope` has it."""

    name: str
    scope: str | None


class ParsedDeclaration(NamedTuple):
    """The functions of a declaration in order, and the calls in them. Offsets are bytes of the declaration.

    Function i is [starts[i], ends[i]) with `names[i]` and `shown[i]`, its name in headings; both are qualified. It has
    `counts[i]` of the calls, which are in order: `places` of the called names, and `calls`.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    names: Sequence[str]
    shown: Sequence[str]
    counts: NDArray[np.int64]
    places: NDArray[np.int64]
    calls: Sequence[NamedCall]


def parsed(text: bytes, scope: Sequence[str]) -> ParsedDeclaration | None:
    """Parse one declaration inside of the namespaces `scope`; None if it has no function with a body.

    A syntax error loses the functions around it.
    """
    code = without_macros(without_open_conditionals(text))
    nodes = [node for node in syntax_outline(code) if node.role is Role.FUNCTION and node.name]
    if not nodes:
        return None
    inner = _whole_names(code, nodes)
    shown = [_shown(code, *pair) for pair in zip(nodes, inner, strict=True)]
    starts = np.array([node.start for node in nodes], dtype=np.int64)
    ends = np.array([node.end for node in nodes], dtype=np.int64)
    found = syntax_calls(code)
    places = np.array([call.place for call in found], dtype=np.int64)
    owner = np.searchsorted(starts, places, side="right") - 1
    inside = (owner >= 0) & (places < ends[owner])
    counts = np.bincount(owner[inside], minlength=len(nodes))
    calls = [NamedCall(found[place].name, found[place].scope) for place in np.flatnonzero(inside).tolist()]
    names, shown = ([_completed(name, scope) for name in each] for each in (inner, shown))
    return ParsedDeclaration(starts, ends, names, shown, counts, places[inside], calls)


def _shown(code: bytes, node: Node, name: str) -> str:
    """Return the name of a function in headings: of a macro with a body, such as a test, with its arguments."""
    own = name.rpartition("::")[2]
    written = own.encode() + b"("
    if not own.isupper() or not code.startswith(written, node.start):
        return name
    found = _MACRO_CALL.match(code, node.start, node.start + _LONGEST_NAME)
    return name[: len(name) - len(own)] + " ".join(found[0].decode(errors="replace").split()) if found else name


def _whole_names(code: bytes, nodes: Sequence[Node]) -> list[str]:
    """Return the names of `nodes`, with the scopes that tree-sitter lost at a syntax error.

    It ends a namespace or class there, so that the rest of the file seems to stand outside. The braces tell better, if
    they are balanced.
    """
    if not has_errors(code):
        return [node.name for node in nodes]
    scopes = _scopes(code, [node.start for node in nodes])
    return [_completed(node.name, scope) for node, scope in zip(nodes, scopes, strict=True)]


def _scopes(code: bytes, places: Sequence[int]) -> list[list[str]]:
    """Return the named scopes around each of `places`, which ascend; none at all if braces are not balanced."""
    opened: list[list[str]] = []
    found: list[list[str]] = []
    begin = 0
    for mark in _SCOPE.finditer(code):
        while len(found) < len(places) and places[len(found)] < mark.end():
            found.append([name for names in opened for name in names])
        if mark[0] not in (b"{", b"}", b";"):
            continue
        if mark[0] == b"}":
            if not opened:
                return [[] for _ in places]
            opened.pop()
        elif mark[0] == b"{":
            named = _NAMED.search(code, max(begin, mark.start() - _LONGEST_HEAD), mark.start())
            name = (named["namespace"] or named["class"] or b"") if named else b""
            opened.append([part.strip() for part in name.decode(errors="replace").split("::") if part.strip()])
        begin = mark.end()
    found += [[] for _ in places[len(found) :]]
    return found if not opened else [[] for _ in places]


def _completed(name: str, scope: Sequence[str]) -> str:
    """Return `name` with the parts of `scope` that it lacks. Its last part is never one of the scope."""
    parts = name.split("::")
    known = 0
    for part in scope:
        known += known < len(parts) - 1 and parts[known] == part
    return "::".join((*scope, *parts[known:]))
