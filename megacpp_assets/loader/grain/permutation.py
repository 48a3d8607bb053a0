"""Permutations of 0 to count - 1 by numpy, in memory or in a file. A number needs 4 bytes up to 2^32 numbers, else 8.

The numbers equal `default_rng(key).permutation(count)`: the stored width does not change the shuffle.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.loader.grain.refusals import BadIndex
from megacpp_assets.storage.atomic import undone_on_error

_BLOCK = 1 << 22


def permutation(count: int, key: int) -> NDArray[Any]:
    """Return the permutation for `key`, shape (count,), read-only."""
    order = np.arange(count, dtype=_dtype(count))
    np.random.default_rng(key).shuffle(order)
    order.flags.writeable = False
    return order


def mapped_permutation(folder: Path, count: int, key: int) -> NDArray[Any]:
    """Return the same permutation as a read-only map of a file in `folder`, which is written if it is missing.

    Several processes may call this at the same time. Raises `BadIndex` if the file has a wrong size.
    """
    dtype = _dtype(count)
    path = folder / f"permutation-{count}-{key:016x}-numpy{np.__version__}{dtype.str[1:]}"
    if not path.is_file():
        _write(path, count, key, dtype)
    if path.stat().st_size != count * dtype.itemsize:
        found = f"{path.stat().st_size} bytes"
        raise BadIndex(f"{path}", expected=f"{count * dtype.itemsize} bytes", found=found, do="remove the file")
    return np.memmap(path, dtype, "r")


def _write(path: Path, count: int, key: int, dtype: np.dtype[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file,
        undone_on_error(Path(file.name).unlink),
    ):
        file.truncate(count * dtype.itemsize)
        # A plain ndarray: numpy shuffles a subclass such as memmap number by number in Python.
        order = np.memmap(file.name, dtype, "r+").view(np.ndarray)
        for first in range(0, count, _BLOCK):
            end = min(count, first + _BLOCK)
            order[first:end] = np.arange(first, end, dtype=dtype)
        np.random.default_rng(key).shuffle(order)
        os.fsync(file.fileno())
        os.replace(file.name, path)


def _dtype(count: int) -> np.dtype[Any]:
    return np.dtype("<u4" if count <= 1 << 32 else "<u8")
