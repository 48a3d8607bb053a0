"""A Grain source of windows by number, copied from memory maps, of which a limited number is open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.loader.grain.files import reject_npy
from megacpp_assets.loader.grain.index import OlmoNpyIndex
from megacpp_assets.loader.grain.maps import MmapCache
from megacpp_assets.loader.grain.package import grain
from megacpp_assets.loader.grain.refusals import BadArgument, BadIndex

MAX_OPEN_FILES: Final = 64

Element = dict[str, Any]
"""Values by name: the input and the output of a transform."""


class OlmoNpyDataSource(grain.sources.RandomAccessDataSource):  # type: ignore[misc]
    """The instances of an index, as a Grain `RandomAccessDataSource`.

    `path_remap` maps prefixes of paths to their replacements; the first matching prefix is replaced. A source can be
    pickled, and used by several threads. Equal sources have the same `repr`, which Grain compares when it resumes.
    """

    def __init__(
        self,
        index: OlmoNpyIndex,
        *,
        path_remap: Mapping[str, str] | None = None,
        max_open_files: int = MAX_OPEN_FILES,
    ) -> None:
        if max_open_files < 1:
            raise BadArgument("max_open_files", expected="at least 1", found=max_open_files, do="allow at least one")
        self._index = index
        self._dtype = np.dtype(index.dtype).newbyteorder("<")
        self._path_remap = dict(path_remap or {})
        self._max_open_files = max_open_files
        self._maps = self._new_maps()

    @property
    def open_files(self) -> int:
        """The number of files that this process has mapped."""
        return len(self._maps)

    def __len__(self) -> int:
        return self._index.total_instances

    def __getitem__(self, instance_id: int) -> Element:
        """Return `tokens`, a copy of shape (L,) with the index's type, `instance_id`, and the file number `file_id`.

        Raises:
            NoSuchWindow: the instance does not exist (also an `IndexError`).
            NoSuchFile: the file is missing.
            BadIndex: the size of the file differs from the index.
        """
        many = self.windows(np.array([instance_id], np.int64))
        return {"tokens": many["tokens"][0], "instance_id": int(instance_id), "file_id": int(many["file_id"][0])}

    def windows(self, instances: NDArray[np.int64]) -> Element:
        """Return several instances: `tokens` (N, L), `instance_id` (N,) and `file_id` (N,). Raises like `[]`."""
        numbers, firsts = self._index.locate(instances)
        length = self._index.sequence_length
        tokens = np.empty((len(instances), length), self._dtype)
        for line, number, first in zip(tokens, numbers.tolist(), firsts.tolist(), strict=True):
            with self._maps.borrowed(number) as values:
                line[:] = values[first : first + length]
        return {"tokens": tokens, "instance_id": instances, "file_id": numbers}

    def _new_maps(self) -> MmapCache:
        return MmapCache(self._checked_path, self._dtype, self._max_open_files)

    def _checked_path(self, number: int) -> Path:
        entry = self._index.files[number]
        path = Path(self._resolved(entry.path))
        reject_npy(path)
        expected, found = entry.n_tokens * self._dtype.itemsize, path.stat().st_size
        if expected != found:
            do = "restore the file or build the index again"
            raise BadIndex(f"{path}", expected=f"{expected} bytes", found=f"{found} bytes", do=do)
        return path

    def _resolved(self, path: str) -> str:
        for prefix, replacement in self._path_remap.items():
            if path.startswith(prefix):
                return replacement + path[len(prefix) :]
        return path

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_maps": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._maps = self._new_maps()

    def __repr__(self) -> str:
        return (
            f"OlmoNpyDataSource(fingerprint={self._index.fingerprint!r}, seq={self._index.sequence_length}, "
            f"dtype={self._dtype.str!r}, remap={sorted(self._path_remap.items())!r})"
        )
