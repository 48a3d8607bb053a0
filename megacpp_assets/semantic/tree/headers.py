"""Headers of other pinned repositories, laid into a tree's folder of ours for the sources that include them."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.tree.folder import WORK_FOLDER, Folder, is_plain
from megacpp_assets.semantic.tree.includes import include_spellings
from megacpp_assets.semantic.tree.system_headers import SYSTEM_HEADERS
from megacpp_assets.storage.git_objects import BlobReader

STAND_INS = f"{WORK_FOLDER}/stand_ins"


class Library(NamedTuple):
    """A repository whose headers are used for parsing: its name, its files, and the reader of their blobs."""

    name: str
    files: Sequence[SourceFile]
    blobs: BlobReader


class _Header(NamedTuple):
    folder: Folder
    file: SourceFile
    path: str


class Paths:
    """Paths by their last names, to find those that a spelling may mean from some folder."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._by_name[posixpath.basename(path)].append(path)

    def ending(self, spelling: str) -> Iterator[str]:
        """Yield the paths that end with `spelling`."""
        for path in self._by_name.get(posixpath.basename(spelling), ()):
            if f"/{path}".endswith(f"/{spelling}"):
                yield path


def spelled(texts: Iterable[bytes], own: Paths) -> set[str]:
    """Return what `texts` include that is neither the system's nor one of their own repository's files."""
    return {spelling for spelling in _foreign(texts) if next(own.ending(spelling), None) is None}


def _foreign(texts: Iterable[bytes]) -> set[str]:
    return {spelling for text in texts for _, spelling in include_spellings(text)} - SYSTEM_HEADERS


def export_headers(tree: Path, texts: Iterable[bytes], own: Collection[str], libraries: Sequence[Library]) -> list[str]:
    """Write below `tree` each header of `libraries` that the `texts` of a repository with the paths `own`, or a header
    written before, may mean; their paths, ascending."""
    headers = {header.path: header for library in libraries for header in _headers(tree, library)}
    found = Paths(headers)
    written: set[str] = set()
    wanted = spelled(texts, Paths(own)) if headers else set()
    while wanted:
        fresh = sorted({path for spelling in wanted for path in found.ending(spelling)} - written)
        written |= set(fresh)
        wanted = _foreign(_write(headers[path]) for path in fresh)
    return sorted(path for path in written if (tree / path).is_file())


def _headers(tree: Path, library: Library) -> Iterator[_Header]:
    folder = Folder(tree / STAND_INS / library.name, library.blobs)
    for file in library.files:
        if file.header and not file.skipped and is_plain(file.path):
            yield _Header(folder, file, f"{STAND_INS}/{library.name}/{file.path}")


def _write(header: _Header) -> bytes:
    """Write it where there is room, and give its text."""
    if header.folder.lacks_room(header.file):
        return b""
    data = header.folder.blobs.read(header.file.blob)
    return b"" if header.folder.write(header.file.path, data) else data
