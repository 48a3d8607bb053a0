"""Serializes the outcome of one unit: a JSON head, then the arrays as they are in memory.

Equal outcomes give equal bytes. The writer's checksum protects the bytes, not this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.semantic.parsing.parsed import NO_SYMBOLS, Cursors, ParsedFile, Symbols
from megacpp_assets.semantic.parsing.worker import UnitResult

_CURSORS: Final = {
    "kind": "<u2",
    "start": "<u4",
    "end": "<u4",
    "depth": "<u2",
    "sibling": "<u2",
    "parent": "<i4",
    "declares": "<i4",
    "uses": "<i4",
    "flags": "<u1",
}
_SYMBOLS: Final = {"usr": "<u8", "kind": "<u2"}
_PLAIN: Final = ("path", "status", "mode", "reason", "errors", "first_error", "includes", "skipped_ranges")
_LENGTH_BYTES = 8


def to_bytes(result: UnitResult) -> bytes:
    """Return `result` as bytes, without the files that it read, which are part of its key."""
    file = result.file
    head: dict[str, Any] = {name: getattr(file, name) for name in _PLAIN}
    head["symbols"] = [file.symbols.qualified_name, file.symbols.spelling]
    head["cursors"] = None if file.cursors is None else len(file.cursors.kind)
    head["checks"] = len(result.checks)
    head["measured"] = [result.calls, result.differing, result.shares, result.missing, result.cpu_ms]
    text = orjson.dumps(head)
    return b"".join((len(text).to_bytes(_LENGTH_BYTES, "little"), text, *_arrays(result)))


def from_bytes(data: bytes) -> UnitResult:
    """Return the outcome that `to_bytes` wrote."""
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    head = orjson.loads(data[_LENGTH_BYTES:end])
    reader = _Reader(data, end)
    count = head.pop("cursors")
    cursors = None if count is None else Cursors(**{name: reader.take(kind, count) for name, kind in _CURSORS.items()})
    checks = reader.take("<u8", 2 * head.pop("checks")).reshape(-1, 2)
    names = head.pop("symbols")
    symbols = NO_SYMBOLS if cursors is None else _symbols(reader, *names)
    head["includes"] = tuple(head["includes"])
    head["skipped_ranges"] = tuple((start, end) for start, end in head["skipped_ranges"])
    measured = head.pop("measured")
    return UnitResult(ParsedFile(**head, cursors=cursors, symbols=symbols), checks, (), *measured)


def _symbols(reader: _Reader, names: list[str], spellings: list[str]) -> Symbols:
    columns = {name: reader.take(kind, len(names)) for name, kind in _SYMBOLS.items()}
    return Symbols(**columns, qualified_name=names, spelling=spellings)


def _arrays(result: UnitResult) -> Iterator[bytes]:
    if result.file.cursors is not None:
        for name, kind in _CURSORS.items():
            yield getattr(result.file.cursors, name).astype(kind, copy=False).tobytes()
    yield result.checks.astype("<u8", copy=False).tobytes()
    for name, kind in _SYMBOLS.items():
        yield getattr(result.file.symbols, name).astype(kind, copy=False).tobytes()


class _Reader:
    """Reads arrays from bytes, one after another."""

    def __init__(self, data: bytes, offset: int) -> None:
        self._data = data
        self._offset = offset

    def take(self, kind: str, count: int) -> NDArray[Any]:
        # Copied, because native code needs aligned arrays.
        array = np.frombuffer(self._data, kind, count, self._offset).copy()
        self._offset += array.nbytes
        return array
