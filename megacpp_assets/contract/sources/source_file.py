"""A file of a pinned commit: a canonical line of `files.jsonl`, which `pinned_repos` writes, sorted by path bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

FILES_LIST = "files.jsonl"
OBJECTS = "repo.git"
"""Folder of the bare git objects inside the artifact of `pinned_repos`."""
FRAGMENTS = (".def", ".inc")
"""Ends of the names of files that are made to be included within others. A file that no other includes may be no C++: a
linker's list of exports, or a part of a makefile.
"""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One tree entry: repository-relative path, blob id, size in bytes.

    `language` is "c", "c++" or "" (not C/C++); `header` tells headers from sources; `license` is an SPDX id;
    `skipped` is "" for a selected C/C++ file, else the reason it is left out.
    """

    path: str
    blob: str
    bytes: int
    language: str
    header: bool
    license: str
    skipped: str = ""


def is_fragment(path: str) -> bool:
    """Return whether the file at `path` is to be read where others include it, by its name."""
    return path.lower().endswith(FRAGMENTS)


def dump_files(files: Iterable[SourceFile]) -> bytes:
    """Canonical JSON lines."""
    lines = (json.dumps(asdict(file), sort_keys=True, ensure_ascii=False) for file in files)
    return "".join(f"{line}\n" for line in lines).encode()


def load_files(data: bytes) -> list[SourceFile]:
    """Do the inverse of `dump_files`."""
    return [SourceFile(**json.loads(line)) for line in data.decode().split("\n") if line]
