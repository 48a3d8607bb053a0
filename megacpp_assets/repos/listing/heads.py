"""Reads the first bytes of blobs: one git process reads all small ones; only the beginning of a large one is
inflated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from megacpp_assets.repos.git import git_head
from megacpp_assets.storage.git_objects import BlobReader, blob_reader_at

_SMALL = 1 << 20


class BlobHeads:
    """Reads the beginnings of the blobs of one repository."""

    def __init__(self, blobs: BlobReader, git_dir: Path) -> None:
        self._blobs = blobs
        self._git_dir = git_dir

    def read(self, blob: str, size: int, length: int) -> bytes:
        """Return the first `length` bytes of object `blob`, which has `size` bytes."""
        if size <= _SMALL:
            return self._blobs.read(blob)[:length]
        # Above the threshold git writes while it inflates, and stops when its output is closed.
        arguments = ("-c", f"core.bigFileThreshold={_SMALL}", "cat-file", "blob", blob)
        return git_head(*arguments, git_dir=self._git_dir, length=length)


@contextmanager
def blob_heads(git_dir: Path, where: str) -> Iterator[BlobHeads]:
    """Open a reader for the bare repository `git_dir`. `where` names it in errors."""
    with blob_reader_at(git_dir, where) as blobs:
        yield BlobHeads(blobs, git_dir)
