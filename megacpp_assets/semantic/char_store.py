"""Painted characters of a whole repository in one scratch file, read back through the page cache."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.paint import CHAR_DTYPE

_PLAIN = np.dtype((np.void, CHAR_DTYPE.itemsize))
"""A character without its fields: copied as one block of bytes."""


class CharStore:
    """Append the characters of file after file, then take slices. The file lies in a folder of the caller's."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "chars.bin"
        self._file = self._path.open("wb")
        self._bases: list[int] = []
        self._size = 0
        self._chars: NDArray[np.void] = np.zeros(0, dtype=CHAR_DTYPE)

    def append(self, chars: NDArray[np.void]) -> None:
        """Store the characters of the next file."""
        self._bases.append(self._size)
        self._size += len(chars)
        chars.tofile(self._file)

    def seal(self) -> CharStore:
        """End writing; slices may be taken from now on."""
        self._file.close()
        if self._size:
            self._chars = np.asarray(np.memmap(self._path, dtype=CHAR_DTYPE, mode="r"))
        return self

    def slice(self, file: int, start: int, end: int) -> NDArray[np.void]:
        """Characters [start, end) of the file appended as number `file`."""
        base = self._bases[file]
        return self._chars[base + start : base + end]


def joined(size: int, parts: Iterable[tuple[int, NDArray[np.void]]]) -> NDArray[np.void]:
    """`size` characters, zero but for the `parts`, each (where it begins, its characters)."""
    chars = np.zeros(size, dtype=CHAR_DTYPE)
    plain = chars.view(_PLAIN)
    for begin, part in parts:
        plain[begin : begin + len(part)] = part.view(_PLAIN)
    return chars
