"""Reads blobs of a pinned commit: exact bytes, no checkout, no attributes, no filters.

They come from the repository's packs; what no pack has comes from `git cat-file --batch`.
"""

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
from megacpp_assets.storage.packs import Packs

Spans = Mapping[str, Sequence[tuple[int, int]]]
"""Blob -> ascending byte ranges that do not overlap, whose letters and digits are replaced."""
_PLAIN: Final = bytes(
    ord("0") if chr(byte) in string.digits else ord("x") if chr(byte) in string.ascii_letters else byte
    for byte in range(256)
)


def git_environment() -> dict[str, str]:
    """Return an environment in which git reads no configuration, asks nothing and runs no program of a tree."""
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
    """Return the file list of a `pinned_repos` artifact in path order."""
    return load_files(raw.file(FILES_LIST).read_bytes())


@contextmanager
def blob_reader(raw: Artifact, spans: Spans | None = None) -> Iterator[BlobReader]:
    """Yield a reader of the objects of a `pinned_repos` artifact. `LineageGap` if they changed since it was published.

    Letters and digits in `spans` of a blob are replaced by "x" and "0", so that no offset moves.
    """
    with blob_reader_at(raw.folder(OBJECTS), raw.path, spans) as reader:
        yield reader


@contextmanager
def blob_reader_at(git_dir: Path, where: str, spans: Spans | None = None) -> Iterator[BlobReader]:
    """Yield a reader of any bare repository. `where` names it in errors."""
    command = ["git", "--git-dir", str(git_dir), "cat-file", "--batch"]
    with (
        Packs(git_dir) as packs,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=git_environment()) as process,
    ):
        try:
            yield BlobReader(packs, process, where, spans or {})
        finally:
            process.kill()


def with_spans_replaced(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return `data` with the ASCII letters of each span replaced by "x" and its digits by "0"; the length stays."""
    parts, at = [], 0
    for start, end in spans:
        parts += [data[at:start], data[start:end].translate(_PLAIN)]
        at = end
    return b"".join([*parts, data[at:]])


class BlobReader:
    """Packs, and one `git cat-file --batch` process. Blobs are read one at a time.

    `spans` are the ranges that are replaced.
    """

    def __init__(self, packs: Packs, process: subprocess.Popen[bytes], where: str, spans: Spans) -> None:
        self._packs = packs
        self._process = process
        self.spans = spans
        self._where = where

    def read(self, blob: str) -> bytes:
        """Return the bytes of object `blob`. `LineageGap` if the repository lacks it."""
        data = self._packs.read(blob)
        data = self._from_git(blob) if data is None else data
        return with_spans_replaced(data, self.spans[blob]) if blob in self.spans else data

    def _from_git(self, blob: str) -> bytes:
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
        """Yield (file, bytes) in the given order."""
        for file in files:
            yield file, self.read(file.blob)
