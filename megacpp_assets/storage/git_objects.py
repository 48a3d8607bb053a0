"""Reading blobs of a pinned commit with `git cat-file --batch`: exact bytes, no checkout, no attributes, no filters."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.sources.source_file import FILES_LIST, OBJECTS, SourceFile, load_files
from megacpp_assets.storage.artifact import Artifact


def git_environment() -> dict[str, str]:
    """An environment in which git reads no configuration, asks nothing and runs nothing of a repository's choosing."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "GIT_SSH_COMMAND": "/bin/false",
        "GIT_LFS_SKIP_SMUDGE": "1",
    }


def source_files(raw: Artifact) -> list[SourceFile]:
    """The file list of a stage 1 artifact, in path order."""
    return load_files(raw.file(FILES_LIST).read_bytes())


@contextmanager
def blob_reader(raw: Artifact) -> Iterator[BlobReader]:
    """A reader over the objects of a stage 1 artifact; `LineageGap` if they changed since it was published."""
    with blob_reader_at(raw.folder(OBJECTS), raw.path) as reader:
        yield reader


@contextmanager
def blob_reader_at(git_dir: Path, where: str) -> Iterator[BlobReader]:
    """A reader over any bare repository; `where` names it in errors."""
    command = ["git", "--git-dir", str(git_dir), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=git_environment()) as process:
        try:
            yield BlobReader(process, where)
        finally:
            process.kill()


class BlobReader:
    """One `git cat-file --batch` process; blobs are asked for one at a time, so memory stays at one blob."""

    def __init__(self, process: subprocess.Popen[bytes], where: str) -> None:
        self._process = process
        self._where = where

    def read(self, blob: str) -> bytes:
        """The bytes of object `blob`; `LineageGap` if the repository does not hold it."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(f"{blob}\n".encode())
        stdin.flush()
        header = stdout.readline().split()
        if len(header) != 3:
            raise LineageGap(f"{self._where}: blob {blob}", expected="the object", found=b" ".join(header).decode())
        data = stdout.read(int(header[2]))
        stdout.read(1)
        return data

    def read_all(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, bytes]]:
        """(file, bytes) in the order given."""
        for file in files:
            yield file, self.read(file.blob)
