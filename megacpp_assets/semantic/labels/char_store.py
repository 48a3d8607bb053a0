"""Stores the labelled characters of a repository in one scratch file.

Slices are read, not mapped: mapped pages would count as memory of the process, up to 19 bytes for each character.

Documents share parts of files, so the JSON of a part is cached: most parts are written many times.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from os import pread
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.semantic.labels.paint import CHAR_DTYPE

_PLAIN = np.dtype((np.void, CHAR_DTYPE.itemsize))
"""A character as one block of bytes, which copies faster than its fields."""
_KEPT_BYTES = 64 << 20
"""The size of the JSON cache. The least recently used part is removed first."""

Texts = tuple[bytes, ...]
"""The JSON of each of PAINTED_COLUMNS, without brackets."""


class Part(NamedTuple):
    """Characters [start, end) of file number `file`, placed at `begin` in a document."""

    begin: int
    file: int
    start: int
    end: int


class CharStore:
    """A store of characters: first `put` each file, then `seal`, then read slices. The scratch file is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "chars.bin"
        self._file: BinaryIO = self._path.open("w+b")
        self._bases: dict[int, int] = {}
        self._size = 0
        self._texts: OrderedDict[tuple[int, int, int], Texts] = OrderedDict()
        self._kept = 0

    def __getstate__(self) -> tuple[Path, dict[int, int]]:
        """Return what another process needs to read the same scratch file."""
        return self._path, self._bases

    def __setstate__(self, state: tuple[Path, dict[int, int]]) -> None:
        self._path, self._bases = state
        self._file, self._size = self._path.open("rb"), 0
        self._texts, self._kept = OrderedDict(), 0

    def put(self, file: int, chars: NDArray[np.void]) -> None:
        """Store the characters of file number `file`; files come in any order."""
        self._bases[file] = self._size
        self._size += len(chars)
        chars.tofile(self._file)

    def seal(self) -> CharStore:
        """End writing. Slices can be read from now on."""
        self._file.flush()
        return self

    def slice(self, file: int, start: int, end: int) -> NDArray[np.void]:
        """Return characters [start, end) of file number `file`."""
        size, place = CHAR_DTYPE.itemsize, self._bases[file] + start
        data = pread(self._file.fileno(), max(0, end - start) * size, place * size)
        return np.frombuffer(data, dtype=CHAR_DTYPE)

    def joined(self, size: int, parts: Iterable[Part]) -> NDArray[np.void]:
        """Return `size` characters that are zero outside of the `parts`."""
        chars = np.zeros(size, dtype=CHAR_DTYPE)
        plain = chars.view(_PLAIN)
        for begin, *place in parts:
            part = self.slice(*place)
            plain[begin : begin + len(part)] = part.view(_PLAIN)
        return chars

    def arrays(self, size: int, parts: Iterable[Part]) -> Texts:
        """Return the columns of the result of `joined` as JSON arrays. The `parts` must ascend and not overlap."""
        texts: list[Texts] = []
        reached = 0
        for begin, file, start, end in parts:
            if begin > reached:
                texts.append(_zeros(begin - reached))
            if end > start:
                texts.append(self._text((file, start, end)))
            reached = begin + end - start
        if size > reached:
            texts.append(_zeros(size - reached))
        return tuple(b"[%b]" % b",".join(column) for column in zip(*texts, strict=True))

    def _text(self, place: tuple[int, int, int]) -> Texts:
        found = self._texts.get(place)
        if found is None:
            part = self.slice(*place)
            found = tuple(_json(part[name]) for name in c.PAINTED_COLUMNS)
            self._texts[place] = found
            self._kept += sum(map(len, found))
            while self._kept > _KEPT_BYTES:
                self._kept -= sum(map(len, self._texts.popitem(last=False)[1]))
        else:
            self._texts.move_to_end(place)
        return found


def _json(column: NDArray[np.generic]) -> bytes:
    return orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]


@lru_cache(maxsize=16)
def _zeros(number: int) -> Texts:
    return (b",".join([b"0"] * number),) * len(c.PAINTED_COLUMNS)
