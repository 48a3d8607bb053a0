"""The blobs of a history: their bytes, and the offsets of their lines."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.sources.file_policy import GENERATED, NOT_UTF8
from megacpp_assets.semantic.tree.encodings import UTF8, decoded
from megacpp_assets.semantic.tree.text import is_generated, refusal
from megacpp_assets.storage.git_objects import BlobReader
from megacpp_assets.versions._lines import line_starts

_KEPT_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A blob: its bytes, the start `starts[i]` of line i (the last entry is the end), and why it is rejected, or ""."""

    data: bytes
    starts: NDArray[np.int64]
    reason: str = ""

    @property
    def lines(self) -> int:
        """The number of lines. The last one may lack a line end."""
        return len(self.starts) - 1

    def span(self, first: int, count: int) -> tuple[int, int]:
        """Return the offsets of the start and the end of `count` lines from line `first` on."""
        return self.starts.item(first), self.starts.item(first + count)


class FileVersions:
    """Reads blobs and caches the latest 64 MiB: the version after a commit is also the version before a later one."""

    def __init__(self, blobs: BlobReader, most_bytes: int) -> None:
        self._blobs = blobs
        self._most = most_bytes
        self._kept: OrderedDict[str, FileVersion] = OrderedDict()
        self._bytes = 0

    def get(self, blob: str) -> FileVersion:
        """Return the version with this object id; an empty one for "". Raises `LineageGap` if the blob is missing."""
        if not blob:
            return _EMPTY
        if blob in self._kept:
            self._kept.move_to_end(blob)
            return self._kept[blob]
        data = self._blobs.read(blob)
        version = FileVersion(data, line_starts(data), _reason(data, self._most))
        self._kept[blob] = version
        self._bytes += len(data)
        while self._bytes > _KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= len(self._kept.popitem(last=False)[1].data)
        return version


def _reason(data: bytes, most_bytes: int) -> str:
    """Return why a version is rejected, or "". Documents of commits have bytes of both sides, so they must be UTF-8."""
    if reason := refusal(data, most_bytes):
        return reason
    if is_generated(data):
        return GENERATED
    found = None if data.isascii() else decoded(data)
    return "" if data.isascii() or (found is not None and found.encoding == UTF8) else NOT_UTF8


_EMPTY: Final = FileVersion(b"", np.zeros(1, dtype=np.int64))
