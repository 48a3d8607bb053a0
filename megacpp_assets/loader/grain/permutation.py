"""numpy's permutation of so many numbers, in memory or in a file: 4 bytes a number up to 2^32 of them, else 8.

The numbers are those of `default_rng(key).permutation(count)`: how wide they are stored has no part in the shuffle.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.loader.grain.refusals import BadIndex

_BLOCK = 1 << 22


def permutation(count: int, key: int) -> NDArray[Any]:
    """Shape (count,), read-only."""
    order = np.arange(count, dtype=_dtype(count))
    np.random.default_rng(key).shuffle(order)
    order.flags.writeable = False
    return order


def mapped_permutation(folder: Path, count: int, key: int) -> NDArray[Any]:
    """The same, as a read-only map of a file below `folder` that is made if it is not there.

    Several processes may ask at once. `BadIndex` for a file of another size.
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
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.truncate(count * dtype.itemsize)
            # A plain view: the generator shuffles a subclass of ndarray number by number in Python.
            order = np.memmap(file.name, dtype, "r+").view(np.ndarray)
            for first in range(0, count, _BLOCK):
                end = min(count, first + _BLOCK)
                order[first:end] = np.arange(first, end, dtype=dtype)
            np.random.default_rng(key).shuffle(order)
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _dtype(count: int) -> np.dtype[Any]:
    return np.dtype("<u4" if count <= 1 << 32 else "<u8")
