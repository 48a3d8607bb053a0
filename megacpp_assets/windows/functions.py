"""The functions of a file version and the calls in them. A declaration is parsed once for all versions and trees."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.syntax import without_torn_arms
from megacpp_assets.windows.declarations import declarations
from megacpp_assets.windows.parsing import NamedCall, ParsedDeclaration, parsed

_KEPT_BLOBS: Final = 512
"""The number of parsed blobs that are cached: a revert or a branch brings an old blob back."""
_KEPT_DECLARATIONS: Final = 50_000
"""The number of parsed declarations that are cached: those of the latest trees."""

OWN_SCOPE: Final = -1
"""The scope of a call by the bare name, or of a member of `this`."""
UNKNOWN_SCOPE: Final = -2
"""The scope of a call of a member of another object, whose class is not known."""

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
        """Return (name, asked scope, line) of each call in a function, in order."""
        begin, end = self.calls[function], self.calls[function + 1]
        columns = (self.callee, self.asked, self.line)
        return list(zip(*(column[begin:end].tolist() for column in columns), strict=True))

    def named(self, name: int) -> list[int]:
        """Return the functions of that name."""
        found: list[int] = np.flatnonzero(self.name == name).tolist()
        return found

    def calling(self, name: int) -> list[tuple[int, int]]:
        """Return (function, asked scope) of the calls of that name, each once."""
        places = np.flatnonzero(self.callee == name)
        owners = (np.searchsorted(self.calls, places, side="right") - 1).tolist()
        return sorted(set(zip(owners, self.asked[places].tolist(), strict=True)))


class _Numbered(NamedTuple):
    """The columns of `ParsedDeclaration`, with numbers of `Names` for names."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    names: Ints
    """(3, functions): `name`, `scope` and `qualified` of `Functions`."""
    counts: NDArray[np.int64]
    places: NDArray[np.int64]
    calls: Ints
    """(2, calls): `callee` and `asked` of `Functions`."""


class DeclarationParser:
    """Parses files by their declarations, of which only those are parsed that no recent file had.

    What a declaration holds depends on nothing outside of it, so the order of the files changes nothing but `names`.
    """

    def __init__(self) -> None:
        self.names = Names()
        self._kept: OrderedDict[tuple[bytes, tuple[str, ...]], _Numbered | None] = OrderedDict()

    def functions_of(self, data: bytes, line_starts: NDArray[np.int64]) -> Functions:
        """Return the functions of one file version."""
        code = without_torn_arms(data)
        begins: list[int] = []
        parts: list[_Numbered] = []
        for start, end, scope in declarations(code):
            part = self._declaration(code[start:end], scope)
            if part is not None:
                begins.append(start)
                parts.append(part)
        if not parts:
            return NO_FUNCTIONS
        at = np.repeat(begins, [len(part.starts) for part in parts])
        called = np.repeat(begins, [len(part.places) for part in parts])
        counts = np.concatenate([part.counts for part in parts])
        name, scoped, qualified = np.concatenate([part.names for part in parts], axis=1)
        callee, asked = np.concatenate([part.calls for part in parts], axis=1)
        return Functions(
            _lines(line_starts, np.concatenate([part.starts for part in parts]) + at),
            _lines(line_starts, np.concatenate([part.ends for part in parts]) + at - 1) + 1,
            name,
            scoped,
            qualified,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            callee,
            asked,
            _lines(line_starts, np.concatenate([part.places for part in parts]) + called),
        )

    def _declaration(self, text: bytes, scope: tuple[str, ...]) -> _Numbered | None:
        key = hashlib.blake2b(text, digest_size=16).digest(), scope
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        found = parsed(text, scope)
        self._kept[key] = self._numbered(found) if found is not None else None
        if len(self._kept) > _KEPT_DECLARATIONS:
            self._kept.popitem(last=False)
        return self._kept[key]

    def _numbered(self, found: ParsedDeclaration) -> _Numbered:
        number = self.names.number
        parts = [name.split("::")[-2:] for name in found.names]
        names = [
            [number(part[-1]) for part in parts],
            [number(part[0] if len(part) > 1 else "") for part in parts],
            [number(name) for name in found.shown],
        ]
        calls = [[number(call.name) for call in found.calls], [_asked(call, self.names) for call in found.calls]]
        columns = (np.array(each, dtype=np.int32) for each in (names, calls))
        numbered, called = columns
        return _Numbered(found.starts, found.ends, numbered, found.counts, found.places, called)


class ParsedBlobs:
    """Reads and parses blobs; `parsed` counts them. A tree graph keeps the parsed blobs of its own tree."""

    def __init__(self, files: FileVersions) -> None:
        self.parsed = 0
        self._files = files
        self._parser = DeclarationParser()
        self._kept: OrderedDict[str, Functions] = OrderedDict()

    @property
    def names(self) -> Names:
        """The numbers of names in what `get` returns."""
        return self._parser.names

    def get(self, blob: str) -> Functions:
        """Return the functions of a blob; none if it cannot be read as text. Raises `LineageGap` if it is missing."""
        if blob in self._kept:
            self._kept.move_to_end(blob)
            return self._kept[blob]
        version = self._files.get(blob)
        self.parsed += not version.reason
        found = NO_FUNCTIONS if version.reason else self._parser.functions_of(version.data, version.starts)
        self._kept[blob] = found
        if len(self._kept) > _KEPT_BLOBS:
            self._kept.popitem(last=False)
        return found


def _asked(call: NamedCall, names: Names) -> int:
    if call.scope is None:
        return UNKNOWN_SCOPE
    return names.number(call.scope) if call.scope else OWN_SCOPE


def _lines(line_starts: NDArray[np.int64], places: NDArray[np.int64]) -> Ints:
    return (np.searchsorted(line_starts, places, side="right") - 1).astype(np.int32)


_NONE: Final = np.zeros(0, dtype=np.int32)
NO_FUNCTIONS: Final = Functions(
    _NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(1, dtype=np.int32), _NONE, _NONE, _NONE
)  # fmt: skip
