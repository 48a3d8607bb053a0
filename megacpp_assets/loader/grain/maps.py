"""An LRU cache of memory maps with reference counts, so that a mix of 950 files needs few open files."""

from __future__ import annotations

import mmap
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class _OpenMap:
    mapping: mmap.mmap
    values: NDArray[Any] | None
    users: int = 0

    def close(self) -> None:
        self.values = None
        with suppress(BufferError):  # a caller kept a view: the mapping is closed when the view is deleted
            self.mapping.close()


class MmapCache:
    """At most `limit` open maps, or more if more are in use at the same time.

    The unused map that was used least recently is closed first. Several threads may use the cache.
    """

    def __init__(self, path_of: Callable[[int], Path], dtype: np.dtype[Any], limit: int) -> None:
        self._path_of = path_of
        self._dtype = dtype
        self._limit = limit
        self._maps: OrderedDict[int, _OpenMap] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of open maps."""
        return len(self._maps)

    @contextmanager
    def borrowed(self, number: int) -> Iterator[NDArray[Any]]:
        """Map the values of file `number` read-only. They must not be used after the `with` block."""
        with self._lock:
            opened = self._maps.get(number) or self._map(number)
            opened.users += 1
            self._maps.move_to_end(number)
            self._close_unused()
            values = opened.values
        assert values is not None
        try:
            yield values
        finally:
            del values
            with self._lock:
                opened.users -= 1
                self._close_unused()

    def _map(self, number: int) -> _OpenMap:
        with self._path_of(number).open("rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        opened = _OpenMap(mapping, np.frombuffer(mapping, self._dtype))
        self._maps[number] = opened
        return opened

    def _close_unused(self) -> None:
        for number in [number for number, opened in self._maps.items() if not opened.users]:
            if len(self._maps) <= self._limit:
                return
            self._maps.pop(number).close()
