"""Reads objects of git packs in this process: a history's blobs are small differences, and git would copy each whole
blob through a pipe.

The format is that of `gitformat-pack`: an index of version 2 with the place of each object, and objects that are
compressed, whole or as a delta of another object.
"""

from __future__ import annotations

import mmap
import zlib
from bisect import bisect_left
from collections import OrderedDict
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple, Self

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage._deltas import apply_delta

_MAGIC: Final = b"\xfftOc\x00\x00\x00\x02"
_HASH: Final = 20
_NAMES: Final = len(_MAGIC) + 4 * 256
"""Names begin here, behind the number of names up to each first byte."""
_CHECKSUM: Final = 4
_FAR: Final = 1 << 31
"""Set in a place that is in the table of places above 2 GiB."""
_WHOLE_KINDS: Final = (1, 2, 3, 4)
_NEAR_DELTA, _NAMED_DELTA = 6, 7
_KEPT_BYTES: Final = 96 << 20
_MOST_STEPS: Final = 10_000
"""A chain of deltas is at most 4,095 long in git; a damaged pack may have a circle."""


class _Piece(NamedTuple):
    """An object as it is stored: a whole one, or the delta of the object at `base` of the same pack."""

    data: bytes
    base: int | None


class Packs:
    """The packs of a bare repository. Recently read objects are cached, 96 MiB: they are the bases of the next ones."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._open = ExitStack()
        self._packs: list[_Pack] = []

    def __enter__(self) -> Self:
        for index in sorted(self._git_dir.glob("objects/pack/*.idx")):
            pack = index.with_suffix(".pack")
            if _is_readable(index) and pack.exists() and pack.stat().st_size:
                self._packs.append(_Pack(self._mapped(index), self._mapped(pack), pack))
        return self

    def __exit__(self, *_: object) -> None:
        self._packs.clear()
        self._open.close()

    def _mapped(self, path: Path) -> mmap.mmap:
        with path.open("rb") as file:
            return self._open.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def read(self, name: str) -> bytes | None:
        """Return the bytes of the object with this id; None if no pack has it. `LineageGap` if its pack is damaged."""
        wanted = bytes.fromhex(name)
        for pack in self._packs:
            place = pack.find(wanted)
            if place is not None:
                return pack.read(place, name)
        return None


def _is_readable(index: Path) -> bool:
    """Return whether an index is of version 2. Git reads the packs of others, or says what is wrong with them."""
    with index.open("rb") as file:
        return len(head := file.read(_NAMES)) == _NAMES and head.startswith(_MAGIC)


class _Pack:
    def __init__(self, index: mmap.mmap, objects: mmap.mmap, path: Path) -> None:
        self._index = index
        self._objects = objects
        self._path = path
        self._count = self._number(_NAMES - 4)
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._bytes = 0

    def _number(self, place: int, size: int = 4) -> int:
        return int.from_bytes(self._index[place : place + size], "big")

    def find(self, name: bytes) -> int | None:
        """Return the place of an object; None if the pack lacks it."""
        first = self._number(len(_MAGIC) + 4 * (name[0] - 1)) if name[0] else 0
        end = min(self._number(len(_MAGIC) + 4 * name[0]), self._count)
        number = bisect_left(range(first, end), name, key=self._name) + first
        if number >= end or self._name(number) != name:
            return None
        places = _NAMES + (_HASH + _CHECKSUM) * self._count
        place = self._number(places + 4 * number)
        return self._number(places + 4 * self._count + 8 * (place - _FAR), 8) if place & _FAR else place

    def _name(self, number: int) -> bytes:
        start = _NAMES + _HASH * number
        return self._index[start : start + _HASH]

    def read(self, place: int, name: str) -> bytes:
        """Return the object that begins at byte `place`. `LineageGap` if its bytes are damaged."""
        try:
            return self._read(place)
        except (ValueError, IndexError, MemoryError, zlib.error) as error:
            raise LineageGap(
                f"object {name} in {self._path.name}", expected="an object of a git pack", found=str(error),
                do="delete the artifact: the next run makes it again",
            ) from error  # fmt: skip

    def _read(self, place: int) -> bytes:
        deltas: list[tuple[int, bytes]] = []
        data = self._kept.get(place)
        while data is None:
            piece = self._piece(place)
            if piece.base is None:
                data = piece.data
                self._keep(place, data)
            elif len(deltas) == _MOST_STEPS:
                raise ValueError("a circle of deltas")
            else:
                deltas.append((place, piece.data))
                place = piece.base
                data = self._kept.get(place)
        self._kept.move_to_end(place)
        for at, delta in reversed(deltas):
            data = apply_delta(data, delta)
            self._keep(at, data)
        return data

    def _piece(self, start: int) -> _Piece:
        """Read one object: kind and size in one number, then the base of a delta, then the compressed bytes."""
        objects = self._objects
        byte = objects[start]
        kind, size, shift, at = byte >> 4 & 7, byte & 15, 4, start + 1
        while byte & 128:
            byte = objects[at]
            size, shift, at = size | (byte & 127) << shift, shift + 7, at + 1
        base = None
        if kind == _NEAR_DELTA:
            byte = objects[at]
            back, at = byte & 127, at + 1
            while byte & 128:
                byte = objects[at]
                back, at = (back + 1) << 7 | byte & 127, at + 1
            base = start - back
        elif kind == _NAMED_DELTA:
            base, at = self.find(objects[at : at + _HASH]), at + _HASH
        elif kind not in _WHOLE_KINDS:
            raise ValueError(f"an object of kind {kind}")
        if kind not in _WHOLE_KINDS and (base is None or base < 0):
            raise ValueError("a delta without its base")
        # zlib adds 5 bytes to each 16 KiB that it cannot compress, and a head and a checksum.
        # A damaged object may grow far beyond its size, so that no more than one byte beyond it is made.
        stream = zlib.decompressobj()
        data = stream.decompress(objects[at : at + size + (size >> 8) + 64], size + 1)
        if len(data) != size or not stream.eof:
            raise ValueError(f"{len(data)} bytes where {size} are recorded")
        return _Piece(data, base)

    def _keep(self, place: int, data: bytes) -> None:
        self._kept[place] = data
        self._bytes += len(data)
        while self._bytes > _KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= len(self._kept.popitem(last=False)[1])
