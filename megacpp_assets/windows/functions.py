"""The functions of a file version and the calls in them, by tree-sitter. A blob is parsed once for all trees."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.nodes import Node, Role
from megacpp_assets.semantic.outline.unparsed.treesitter import Call, has_errors, syntax_calls, syntax_outline
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.syntax import without_macros, without_torn_arms

_KEPT_BLOBS: Final = 512
"""The number of parsed blobs that are cached: a revert or a branch brings an old blob back."""

OWN_SCOPE: Final = -1
"""The scope of a call by the bare name, or of a member of `this`."""
UNKNOWN_SCOPE: Final = -2
"""The scope of a call of a member of another object, whose class is not known."""

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

Ints = NDArray[np.int32]


@dataclass(slots=True)
class Names:
    """Numbers names, so that the index of a large tree stores each name once."""

    _numbers: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)

    def number(self, name: str) -> int:
        """Return the number of `name`. A new name gets a new number."""
        number = self._numbers.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name)
        return number

    def name(self, number: int) -> str:
        """Return the name with this number."""
        return self._names[number]


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
    """The functions of a blob in order, as columns.

    Function i is the lines [first[i], end[i]), counted from 0. `name`, `scope` and `qualified` are numbers of `Names`:
    of the last component, of the one before it ("" for none), and of the name in headings. Its calls are
    [calls[i], calls[i + 1]) of `callee`, the last component of the called name, of `asked` and of `line`. `asked` is
    the scope that the call names, or `OWN_SCOPE` or `UNKNOWN_SCOPE`.
    """

    first: Ints
    end: Ints
    name: Ints
    scope: Ints
    qualified: Ints
    calls: Ints
    callee: Ints
    asked: Ints
    line: Ints

    def __len__(self) -> int:
        return len(self.first)

    def calls_of(self, function: int) -> list[tuple[int, int, int]]:
        """(name, asked scope, line) of each call in a function, in order."""
        begin, end = self.calls[function], self.calls[function + 1]
        columns = (self.callee, self.asked, self.line)
        return list(zip(*(column[begin:end].tolist() for column in columns), strict=True))

    def named(self, name: int) -> list[int]:
        """The functions of that name."""
        found: list[int] = np.flatnonzero(self.name == name).tolist()
        return found

    def calling(self, name: int) -> list[tuple[int, int]]:
        """(function, asked scope) of the calls of that name, each once."""
        places = np.flatnonzero(self.callee == name)
        owners = (np.searchsorted(self.calls, places, side="right") - 1).tolist()
        return sorted(set(zip(owners, self.asked[places].tolist(), strict=True)))


class ParsedBlobs:
    """Reads and parses blobs; `parsed` counts them. A tree graph keeps the parsed blobs of its own tree."""

    def __init__(self, files: FileVersions) -> None:
        self.names = Names()
        self.parsed = 0
        self._files = files
        self._kept: OrderedDict[str, Functions] = OrderedDict()

    def get(self, blob: str) -> Functions:
        """Return the functions of a blob; none if it cannot be read as text. Raises `LineageGap` if it is missing."""
        if blob in self._kept:
            self._kept.move_to_end(blob)
            return self._kept[blob]
        version = self._files.get(blob)
        self.parsed += not version.reason
        found = NO_FUNCTIONS if version.reason else functions_of(version.data, version.starts, self.names)
        self._kept[blob] = found
        if len(self._kept) > _KEPT_BLOBS:
            self._kept.popitem(last=False)
        return found


def functions_of(data: bytes, line_starts: NDArray[np.int64], names: Names) -> Functions:
    """Parse one file version. A syntax error loses the functions around it."""
    code = without_macros(without_torn_arms(data))
    nodes = [node for node in syntax_outline(code) if node.role is Role.FUNCTION and node.name]
    if not nodes:
        return NO_FUNCTIONS
    whole = _whole_names(code, nodes)
    starts = np.array([node.start for node in nodes], dtype=np.int64)
    ends = np.array([node.end for node in nodes], dtype=np.int64)
    found = syntax_calls(code)
    places = np.array([call.place for call in found], dtype=np.int64)
    owner = np.searchsorted(starts, places, side="right") - 1
    inside = (owner >= 0) & (places < ends[owner])
    callee = np.array([names.number(call.name) for call in found], dtype=np.int32)
    asked = np.array([_asked(call, names) for call in found], dtype=np.int32)
    scopes = [name.rpartition("::")[0].rpartition("::")[2] for name in whole]
    counts = np.bincount(owner[inside], minlength=len(nodes))
    return Functions(
        _lines(line_starts, starts),
        _lines(line_starts, ends - 1) + 1,
        np.array([names.number(name.rpartition("::")[2]) for name in whole], dtype=np.int32),
        np.array([names.number(scope) for scope in scopes], dtype=np.int32),
        np.array([names.number(_shown(code, *pair)) for pair in zip(nodes, whole, strict=True)], dtype=np.int32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        callee[inside],
        asked[inside],
        _lines(line_starts, places[inside]),
    )


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


def _asked(call: Call, names: Names) -> int:
    if call.scope is None:
        return UNKNOWN_SCOPE
    return names.number(call.scope) if call.scope else OWN_SCOPE


def _lines(line_starts: NDArray[np.int64], places: NDArray[np.int64]) -> Ints:
    return (np.searchsorted(line_starts, places, side="right") - 1).astype(np.int32)


_NONE: Final = np.zeros(0, dtype=np.int32)
NO_FUNCTIONS: Final = Functions(
    _NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(1, dtype=np.int32), _NONE, _NONE, _NONE
)  # fmt: skip
