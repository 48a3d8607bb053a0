"""The blobs of a commit that a compiler may want, as plain files in a scratch folder; never a link."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.languages import IF_INCLUDED, looks_like_cpp, suffix_of
from megacpp_assets.contract.sources.source_file import SourceFile, is_fragment
from megacpp_assets.semantic.tree.build_files import describes_build, response_files
from megacpp_assets.semantic.tree.folder import Folder, is_plain
from megacpp_assets.semantic.tree.includes import include_spellings
from megacpp_assets.semantic.tree.links import write_linked
from megacpp_assets.semantic.tree.system_headers import SYSTEM_HEADERS
from megacpp_assets.semantic.tree.text import SourceText, decode, refusal
from megacpp_assets.storage.git_objects import BlobReader

_FRAGMENTS_NAMED = re.compile(rb"""["<](?:[^"<>\n]*/)?([^"<>/\n]+\.(?:def|inc))[">]""", re.I)
_STANDARD_HEADERS = 8
"""A folder with so many names of standard headers belongs to a standard library."""
_COMPANION_BYTES = 64 << 20
_NO_BLOB = frozenset({file_policy.SYMLINK, file_policy.SUBMODULE})


@dataclass(frozen=True, slots=True)
class Sources:
    """Files and texts that were taken, by path; (file, reason) of C/C++ files that were not taken, and of others for
    which there was no room; and `companions`: files in the scratch folder that are not text of documents, but may be
    included or describe the build.
    """

    taken: tuple[tuple[SourceFile, SourceText], ...]
    rejected: tuple[tuple[SourceFile, str], ...]
    companions: tuple[SourceFile, ...]


def export(tree: Path, files: Iterable[SourceFile], blobs: BlobReader, limit: int) -> Sources:
    """Write below `tree` each C/C++ file that the text policy accepts, and the files that these include or that
    configure them. `limit` is the largest file in bytes.
    """
    ordered = sorted(files, key=lambda entry: entry.path.encode())
    folder = Folder(tree, blobs)
    code = [file for file in ordered if _is_listed(file) and not is_fragment(file.path)]
    unnamed = [file for file in ordered if file.language and is_fragment(file.path)]
    taken, rejected = _taken(folder, code, limit)
    fresh = taken
    while named := _named(unnamed, fresh):
        unnamed = [file for file in unnamed if file not in named]
        fresh, failed = _taken(folder, named, limit)
        taken, rejected = [*taken, *fresh], [*rejected, *failed]
    rejected += [(file, file.skipped or file_policy.NOT_INCLUDED) for file in unnamed]
    taken, rejected = _with_headers_of_any_name(folder, ordered, (taken, rejected), limit)
    here = {file.path for file, _ in taken}
    rest = [file for file in ordered if file.path not in here]
    companions, left_out = _companions(folder, rest, taken)
    companions += write_linked(folder, ordered, here | {file.path for file in companions})
    rejected += [(file, file_policy.NO_ROOM) for file in left_out if not _is_listed(file)]
    taken.sort(key=lambda entry: entry[0].path.encode())
    return Sources(tuple(taken), tuple(rejected), tuple(companions))


_Taken = list[tuple[SourceFile, SourceText]]
_Rejected = list[tuple[SourceFile, str]]


def _taken(folder: Folder, files: Sequence[SourceFile], limit: int) -> tuple[_Taken, _Rejected]:
    """Return the files that are written to `folder`, with their texts, and the others with the reason."""
    taken: _Taken = []
    rejected: _Rejected = []
    for file in files:
        reason = file.skipped or ("" if is_plain(file.path) else file_policy.NOT_PLAIN_PATH)
        # Before it is read: git keeps gigabytes of zeros in a few kilobytes.
        reason = reason or (file_policy.TOO_LARGE if file.bytes > limit else folder.lacks_room(file))
        data = b"" if reason else folder.blobs.read(file.blob)
        reason = reason or refusal(data, limit)
        source = None if reason else decode(file.path, data)
        if source is not None:
            reason = folder.write(file.path, source.data)
        if reason or source is None:
            rejected.append((file, reason))
            continue
        is_cpp = file.header and file.language == "c" and looks_like_cpp(source.data)
        taken.append((replace(file, language="c++") if is_cpp else file, source))
    return taken, rejected


def _with_headers_of_any_name(
    folder: Folder, files: Sequence[SourceFile], known: tuple[_Taken, _Rejected], limit: int
) -> tuple[_Taken, _Rejected]:
    """Return the taken and the rejected files of `known`, and those files that are headers only because a text includes
    them.
    """
    taken, rejected = known
    odd = [file for file in files if file.skipped == file_policy.NOT_CODE and suffix_of(file.path) in IF_INCLUDED]
    # `list` is a standard header where the tree is a standard library, and anything at all elsewhere.
    of_library = Counter(
        posixpath.split(file.path)[0] for file in odd if posixpath.basename(file.path) in SYSTEM_HEADERS
    )
    waiting: dict[str, list[SourceFile]] = defaultdict(list)
    for file in odd:
        folder_name, name = posixpath.split(file.path)
        if file.bytes and (name not in SYSTEM_HEADERS or of_library[folder_name] >= _STANDARD_HEADERS):
            waiting[name].append(replace(file, skipped="", language="c++", header=True))
    fresh = taken
    while waiting and fresh:
        names = {name for _, source in fresh for name in _included(source.data)}
        found = [file for name in sorted(names) for file in waiting.pop(name, ())]
        fresh, failed = _taken(folder, found, limit)
        taken, rejected = [*taken, *fresh], [*rejected, *failed]
    return taken, rejected


def _is_listed(file: SourceFile) -> bool:
    """Return whether the tables of the stage have a row for `file`."""
    return bool(file.language) or file.skipped in file_policy.OTHER_LANGUAGES


def _named(files: Sequence[SourceFile], taken: _Taken) -> list[SourceFile]:
    """Return those of `files` whose name is between quotes or brackets in a text, also as the value of a macro."""
    if not files:
        return []
    names = {name for _, source in taken for name in _FRAGMENTS_NAMED.findall(source.data)}
    return [file for file in files if posixpath.basename(file.path).encode() in names]


def export_whole(target: Path, files: Iterable[SourceFile], blobs: BlobReader) -> str:
    """Write below `target` every file of the commit that can be written there, for the tree's own build description.
    Return why none was written, or "".
    """
    folder = Folder(target, blobs)
    chosen = [
        file
        for file in sorted(files, key=lambda entry: entry.path.encode())
        if file.skipped not in _NO_BLOB and is_plain(file.path) and file.bytes <= _COMPANION_BYTES
    ]
    if sum(file.bytes for file in chosen) > folder.room:
        return file_policy.NO_ROOM
    for file in chosen:
        folder.write(file.path, blobs.read(file.blob))
    return ""


def _companions(
    folder: Folder, files: Sequence[SourceFile], taken: Sequence[tuple[SourceFile, SourceText]]
) -> tuple[list[SourceFile], list[SourceFile]]:
    """Write the files of the tree that an include may mean, build descriptions and header templates. Return the written
    files, and those for which there was no room.
    """
    named: dict[str, list[SourceFile]] = defaultdict(list)
    chosen: list[SourceFile] = []
    for file in files:
        if file.skipped not in _NO_BLOB and is_plain(file.path) and 0 < file.bytes <= _COMPANION_BYTES:
            (chosen if describes_build(file.path) else named[posixpath.basename(file.path)]).append(file)
    found: list[SourceFile] = []
    left_out: list[SourceFile] = []
    wanted = {name for _, source in taken for name in _included(source.data)}
    while chosen := sorted(
        [*chosen, *(file for name in wanted for file in named.pop(name, ()))], key=lambda entry: entry.path.encode()
    ):
        wanted = set()
        for file in chosen:
            if folder.lacks_room(file):
                left_out.append(file)
                continue
            data = folder.blobs.read(file.blob)
            if not folder.write(file.path, data):
                found.append(replace(file, skipped=file.skipped or "not a document"))
                wanted |= _included(data) | response_files(file.path, data)
        chosen = []
    return found, left_out


def _included(data: bytes) -> set[str]:
    return {posixpath.basename(spelling) for _, spelling in include_spellings(data)}
