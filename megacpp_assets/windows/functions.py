"""The functions of a file version and the calls in them, by syntax alone. A blob is parsed once for all trees."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.nodes import Role
from megacpp_assets.semantic.outline.treesitter import syntax_calls, syntax_outline
from megacpp_assets.versions.files import FileVersions

_MACRO: Final = re.compile(
    rb"^[ \t]*[A-Z][A-Z0-9_]{3,}[ \t]*(?=\r?$)|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b(?=[ \t]+[A-Za-z_])", re.MULTILINE
)
"""A macro alone on its line (`FMT_BEGIN_NAMESPACE`), or before a declaration (`FMT_API void f()`)."""
_KEPT_BLOBS: Final = 512
"""Parsed blobs that are kept after they left the tree: a revert or a branch brings a blob back."""

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

    Function i is the lines [first[i], end[i]), counted from 0. `name` and `qualified` are numbers of `Names`: of the
    last component, and of the name with its scopes. Its calls are [calls[i], calls[i + 1]) of `callee`, the last
    component of the called name, and of `line`.
    """

    first: Ints
    end: Ints
    name: Ints
    qualified: Ints
    calls: Ints
    callee: Ints
    line: Ints

    def __len__(self) -> int:
        return len(self.first)

    def calls_of(self, function: int) -> list[tuple[int, int]]:
        """(name, line) of each call in a function, in order."""
        begin, end = self.calls[function], self.calls[function + 1]
        return list(zip(self.callee[begin:end].tolist(), self.line[begin:end].tolist(), strict=True))

    def named(self, name: int) -> list[int]:
        """The functions of that name."""
        found: list[int] = np.flatnonzero(self.name == name).tolist()
        return found

    def calling(self, name: int) -> list[int]:
        """The functions that call that name, each once."""
        places = np.flatnonzero(self.callee == name)
        found: list[int] = np.unique(np.searchsorted(self.calls, places, side="right") - 1).tolist()
        return found


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
    code = without_macros(data)
    nodes = [node for node in syntax_outline(code) if node.role is Role.FUNCTION and node.name]
    if not nodes:
        return NO_FUNCTIONS
    starts = np.array([node.start for node in nodes], dtype=np.int64)
    ends = np.array([node.end for node in nodes], dtype=np.int64)
    found = syntax_calls(code)
    places = np.array([place for place, _ in found], dtype=np.int64)
    owner = np.searchsorted(starts, places, side="right") - 1
    inside = (owner >= 0) & (places < ends[owner])
    callee = np.array([names.number(name) for _, name in found], dtype=np.int32)
    counts = np.bincount(owner[inside], minlength=len(nodes))
    return Functions(
        _lines(line_starts, starts),
        _lines(line_starts, ends - 1) + 1,
        np.array([names.number(node.name.rpartition("::")[2]) for node in nodes], dtype=np.int32),
        np.array([names.number(node.name) for node in nodes], dtype=np.int32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        callee[inside],
        _lines(line_starts, places[inside]),
    )


def without_macros(code: bytes) -> bytes:
    """`code` with macros that hide what a declaration is as blanks, so that every offset stays.

    The grammar takes `FMT_BEGIN_NAMESPACE namespace detail {` for a function, and `class LIB_API Box {` as well.
    """

    def blanks(found: re.Match[bytes]) -> bytes:
        begin = code.rfind(b"\n", 0, found.start()) + 1
        directive = code[begin : found.start()].lstrip()[:1] == b"#"
        return found[0] if directive else b" " * len(found[0])

    return _MACRO.sub(blanks, code)


def _lines(line_starts: NDArray[np.int64], places: NDArray[np.int64]) -> Ints:
    return (np.searchsorted(line_starts, places, side="right") - 1).astype(np.int32)


_NONE: Final = np.zeros(0, dtype=np.int32)
NO_FUNCTIONS: Final = Functions(_NONE, _NONE, _NONE, _NONE, np.zeros(1, dtype=np.int32), _NONE, _NONE)
