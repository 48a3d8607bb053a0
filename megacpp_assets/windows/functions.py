"""The functions of a file version and the calls in them, by syntax alone. A blob is parsed once for all trees."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.nodes import Role
from megacpp_assets.semantic.outline.treesitter import Call, syntax_calls, syntax_outline
from megacpp_assets.versions.files import FileVersions

_MACRO: Final = re.compile(
    rb"^[ \t]*[A-Z][A-Z0-9_]{3,}[ \t]*(?=\r?$)|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b(?=[ \t]+[A-Za-z_])", re.MULTILINE
)
"""A macro alone on its line (`FMT_BEGIN_NAMESPACE`), or before a declaration (`FMT_API void f()`)."""
_CONDITIONAL: Final = re.compile(
    rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|elifdef|elifndef|endif)\b[^\n]*", re.MULTILINE
)
_OPENING: Final = (b"if", b"ifdef", b"ifndef")
_NOT_A_LINE_END: Final = re.compile(rb"[^\n]")
_KEPT_BLOBS: Final = 512
"""Parsed blobs that are kept after they left the tree: a revert or a branch brings a blob back."""

OWN_SCOPE: Final = -1
"""A call by the bare name, or behind `this`."""
UNKNOWN_SCOPE: Final = -2
"""A call of a member of an object, whose class is not known."""

Ints = NDArray[np.int32]


@dataclass(slots=True)
class Names:
    """Numbers for names: an index of a large tree holds each name once."""

    _numbers: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)

    def number(self, name: str) -> int:
        """The number of `name`, which is new if the name is."""
        number = self._numbers.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name)
        return number

    def name(self, number: int) -> str:
        """The name of that number."""
        return self._names[number]


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
    """The functions of a blob in order, as columns.

    Function i is the lines [first[i], end[i]), counted from 0. `name`, `scope` and `qualified` are numbers of `Names`:
    of the last component, of the one before it ("" for none), and of the whole name. Its calls are
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
    """Reads and parses blobs; `parsed` counts them. A tree graph holds the parsed blobs of its own tree."""

    def __init__(self, files: FileVersions) -> None:
        self.names = Names()
        self.parsed = 0
        self._files = files
        self._kept: OrderedDict[str, Functions] = OrderedDict()

    def get(self, blob: str) -> Functions:
        """The functions of a blob; none of one that cannot be read as text. Raises `LineageGap` for a missing one."""
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
    """Parse one file version. Syntax that cannot be understood costs the functions around it."""
    code = without_macros(without_torn_arms(data))
    nodes = [node for node in syntax_outline(code) if node.role is Role.FUNCTION and node.name]
    if not nodes:
        return NO_FUNCTIONS
    starts = np.array([node.start for node in nodes], dtype=np.int64)
    ends = np.array([node.end for node in nodes], dtype=np.int64)
    found = syntax_calls(code)
    places = np.array([call.place for call in found], dtype=np.int64)
    owner = np.searchsorted(starts, places, side="right") - 1
    inside = (owner >= 0) & (places < ends[owner])
    callee = np.array([names.number(call.name) for call in found], dtype=np.int32)
    asked = np.array([_asked(call, names) for call in found], dtype=np.int32)
    scopes = [node.name.rpartition("::")[0].rpartition("::")[2] for node in nodes]
    counts = np.bincount(owner[inside], minlength=len(nodes))
    return Functions(
        _lines(line_starts, starts),
        _lines(line_starts, ends - 1) + 1,
        np.array([names.number(node.name.rpartition("::")[2]) for node in nodes], dtype=np.int32),
        np.array([names.number(scope) for scope in scopes], dtype=np.int32),
        np.array([names.number(node.name) for node in nodes], dtype=np.int32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        callee[inside],
        asked[inside],
        _lines(line_starts, places[inside]),
    )


def _asked(call: Call, names: Names) -> int:
    if call.scope is None:
        return UNKNOWN_SCOPE
    return names.number(call.scope) if call.scope else OWN_SCOPE


def without_macros(code: bytes) -> bytes:
    """`code` with macros that hide what a declaration is as blanks, so that every offset stays.

    The grammar takes `FMT_BEGIN_NAMESPACE namespace detail {` for a function, and `class LIB_API Box {` as well.
    """

    def blanks(found: re.Match[bytes]) -> bytes:
        begin = code.rfind(b"\n", 0, found.start()) + 1
        directive = code[begin : found.start()].lstrip()[:1] == b"#"
        return found[0] if directive else b" " * len(found[0])

    return _MACRO.sub(blanks, code)


def without_torn_arms(code: bytes) -> bytes:
    """`code` as if there were no conditional where the first arm opens or closes braces: of its arms only that one.

    `if (a) {` in one arm and `if (b) {` in the other opens a block that the grammar sees no end of, and so does
    `extern "C" {` in a conditional of its own.
    """
    groups: list[list[tuple[int, int]]] = []
    blanks: list[tuple[int, int]] = []
    for found in _CONDITIONAL.finditer(code):
        if found[1] in _OPENING:
            groups.append([found.span()])
        elif groups:
            groups[-1].append(found.span())
        if found[1] == b"endif" and groups:
            opening, following, *_ = group = groups.pop()
            arm = opening[1], following[0]
            if code.count(b"{", *arm) != code.count(b"}", *arm):
                blanks += [opening, (following[0], group[-1][1])]
    return _blanked(code, blanks)


def _blanked(code: bytes, spans: list[tuple[int, int]]) -> bytes:
    """`code` with blanks in `spans`, which may lie in one another; lines stay."""
    data = bytearray(code)
    for start, end in spans:
        data[start:end] = _NOT_A_LINE_END.sub(b" ", code[start:end])
    return bytes(data)


def _lines(line_starts: NDArray[np.int64], places: NDArray[np.int64]) -> Ints:
    return (np.searchsorted(line_starts, places, side="right") - 1).astype(np.int32)


_NONE: Final = np.zeros(0, dtype=np.int32)
NO_FUNCTIONS: Final = Functions(
    _NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(1, dtype=np.int32), _NONE, _NONE, _NONE
)  # fmt: skip
