"""A scratch folder for files of a commit. Their paths stay inside it."""

from __future__ import annotations

import errno
import os
from pathlib import Path, PurePosixPath

from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.storage.git_objects import BlobReader

WORK_FOLDER = ".megacpp"
"""Our own folder in the tree: stub headers, precompiled headers, headers of other repositories."""


class Folder:
    """Our own folder for files, and the bytes that it may still take."""

    def __init__(self, target: Path, blobs: BlobReader) -> None:
        self.blobs = blobs
        self.room = file_policy.TREE_BYTES
        self._target = target

    def lacks_room(self, file: SourceFile) -> str:
        """Return why there is no room for `file`, or ""."""
        return file_policy.NO_ROOM if file.bytes > self.room else ""

    def write(self, path: str, data: bytes) -> str:
        """Write a new file, never through a link. Return why it was not written, or ""."""
        target = self._target / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(data)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            return file_policy.CLASHING_PATH
        self.room -= len(data)
        return ""

    def link(self, path: str, name: str) -> str:
        """Give the file at `path`, which was written here, the second path `name`. Return why it was not given,
        or "".
        """
        target = self._target / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(self._target / path, target, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EMLINK, errno.ENAMETOOLONG):
                return file_policy.CLASHING_PATH
            raise
        return ""


def is_plain(path: str) -> bool:
    """Return whether `path` stays inside a folder, with any content of the folder: it is relative, without dot parts
    and control characters.
    """
    parts = PurePosixPath(path).parts
    sound = bool(parts) and not path.startswith("/") and path == "/".join(parts) and path.isprintable()
    return sound and not any(part in (".", "..") or part == WORK_FOLDER for part in parts) and "\\" not in path
