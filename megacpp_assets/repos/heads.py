"""The first bytes of blobs: one git reads all small ones; of a large one no more than the beginning is inflated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from megacpp_assets.repos.git import git_head
from megacpp_assets.storage.git_objects import BlobReader, blob_reader_at

_SMALL = 1 << 20


class BlobHeads:
    """Reads beginnings of the blobs of one repository."""

    def __init__(self, blobs: BlobReader, git_dir: Path) -> None:
        self._blobs = blobs
        self._git_dir = git_dir

    def read(self, blob: str, size: int, length: int) -> bytes:
        """The first `length` bytes of object `blob`, which is of `size` bytes."""
        if size <= _SMALL:
            return self._blobs.read(blob)[:length]
        # Above the threshold git writes what it inflates as it goes, and stops when nobody listens.
        arguments = ("-c", f"core.bigFileThreshold={_SMALL}", "cat-file", "blob", blob)
        return git_head(*arguments, git_dir=self._git_dir, length=length)


@contextmanager
def blob_heads(git_dir: Path, where: str) -> Iterator[BlobHeads]:
    """A reader over the bare repository `git_dir`; `where` names it in errors."""
    with blob_reader_at(git_dir, where) as blobs:
        yield BlobHeads(blobs, git_dir)
