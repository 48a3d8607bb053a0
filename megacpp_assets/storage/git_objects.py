"""Reading blobs of a pinned commit with `git cat-file --batch`: exact bytes, no checkout, no attributes, no filters."""

from __future__ import annotations

import os
import string
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.sources.source_file import FILES_LIST, OBJECTS, SourceFile, load_files
from megacpp_assets.storage.artifact import Artifact

Spans = Mapping[str, Sequence[tuple[int, int]]]
"""Blob -> byte ranges, ascending and apart, whose letters and digits are replaced."""
_PLAIN: Final = bytes(
    ord("0") if chr(byte) in string.digits else ord("x") if chr(byte) in string.ascii_letters else byte
    for byte in range(256)
)


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
def blob_reader(raw: Artifact, spans: Spans | None = None) -> Iterator[BlobReader]:
    """A reader over the objects of a stage 1 artifact; `LineageGap` if they changed since it was published.

    What `spans` names of a blob is replaced by as many "x" and "0", so that no offset moves.
    """
    with blob_reader_at(raw.folder(OBJECTS), raw.path, spans) as reader:
        yield reader


@contextmanager
def blob_reader_at(git_dir: Path, where: str, spans: Spans | None = None) -> Iterator[BlobReader]:
    """A reader over any bare repository; `where` names it in errors."""
    command = ["git", "--git-dir", str(git_dir), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=git_environment()) as process:
        try:
            yield BlobReader(process, where, spans or {})
        finally:
            process.kill()


def with_spans_replaced(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """`data` with the ASCII letters of each span as "x" and its digits as "0": of the same length and form."""
    parts, at = [], 0
    for start, end in spans:
        parts += [data[at:start], data[start:end].translate(_PLAIN)]
        at = end
    return b"".join([*parts, data[at:]])


class BlobReader:
    """One `git cat-file --batch` process; blobs are asked for one at a time, so memory stays at one blob.

    `spans` are the ranges that are replaced in what is read.
    """

    def __init__(self, process: subprocess.Popen[bytes], where: str, spans: Spans) -> None:
        self._process = process
        self.spans = spans
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
        return with_spans_replaced(data, self.spans[blob]) if blob in self.spans else data

    def read_all(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, bytes]]:
        """(file, bytes) in the order given."""
        for file in files:
            yield file, self.read(file.blob)
