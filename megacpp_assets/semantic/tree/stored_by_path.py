"""Stores what is known of a tree's files in a scratch file, so that memory does not grow with their characters."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, MutableMapping
from os import pread
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")


class StoredByPath(MutableMapping[str, Value]):
    """A value for each path. They are in the scratch file `place`, where a replaced value still takes its room."""

    def __init__(self, place: Path) -> None:
        self._file = place.open("w+b")
        self._places: dict[str, tuple[int, int]] = {}
        self._written = 0

    def __setitem__(self, path: str, value: Value) -> None:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._file.write(data)
        self._places[path] = self._written, len(data)
        self._written += len(data)

    def __getitem__(self, path: str) -> Value:
        start, size = self._places[path]
        self._file.flush()
        value: Value = pickle.loads(pread(self._file.fileno(), size, start))  # noqa: S301 - written above
        return value

    def __delitem__(self, path: str) -> None:
        del self._places[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
