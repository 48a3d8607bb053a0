"""The blobs of a commit that a compiler may want, as plain files in a scratch folder; never a link."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from megacpp_assets.contract import file_policy
from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.semantic.compile_database import DATABASE
from megacpp_assets.semantic.infer import include_spellings, is_template
from megacpp_assets.semantic.kernel import KBUILD
from megacpp_assets.semantic.text import SourceText, decode, refusal
from megacpp_assets.storage.git_objects import BlobReader

_RESERVED = ".megacpp"
_COMPANION_BYTES = 64 << 20
_NO_BLOB = frozenset({file_policy.SYMLINK, file_policy.SUBMODULE})


@dataclass(frozen=True, slots=True)
class Sources:
    """Files and texts that were taken, by path; (file, reason) of C/C++ files that were not; and `companions`: files
    in the scratch folder that are not documents' text but may be included, or describe the build."""

    taken: tuple[tuple[SourceFile, SourceText], ...]
    refused: tuple[tuple[SourceFile, str], ...]
    companions: tuple[SourceFile, ...]


def export(tree: Path, files: Iterable[SourceFile], blobs: BlobReader, limit: int) -> Sources:
    """Write below `tree` each C/C++ file that the text policy accepts (`limit` is the largest in bytes), and what
    those include or are configured by."""
    ordered = sorted(files, key=lambda entry: entry.path.encode())
    taken: list[tuple[SourceFile, SourceText]] = []
    refused: list[tuple[SourceFile, str]] = []
    for file in ordered:
        if not file.language:
            continue
        reason = file.skipped or ("" if is_plain(file.path) else file_policy.NOT_PLAIN_PATH)
        data = b"" if reason else blobs.read(file.blob)
        reason = reason or refusal(data, limit) or _write(tree / file.path, data)
        if reason:
            refused.append((file, reason))
        else:
            taken.append((file, decode(file.path, data)))
    here = {file.path for file, _ in taken}
    rest = [file for file in ordered if file.path not in here]
    return Sources(tuple(taken), tuple(refused), tuple(_companions(tree, rest, taken, blobs)))


def export_whole(folder: Path, files: Iterable[SourceFile], blobs: BlobReader) -> None:
    """Write below `folder` every file of the commit that can be written there, for the tree's own build description."""
    for file in sorted(files, key=lambda entry: entry.path.encode()):
        if file.skipped not in _NO_BLOB and is_plain(file.path) and file.bytes <= _COMPANION_BYTES:
            _write(folder / file.path, blobs.read(file.blob))


def _companions(
    tree: Path, files: Sequence[SourceFile], taken: Sequence[tuple[SourceFile, SourceText]], blobs: BlobReader
) -> list[SourceFile]:
    """Write the files of the tree that some include may mean, build descriptions and header templates."""
    wanted = {name for _, source in taken for name in _included(source.data)}
    left = [
        file
        for file in files
        if file.skipped not in _NO_BLOB and is_plain(file.path) and 0 < file.bytes <= _COMPANION_BYTES
    ]
    found: list[SourceFile] = []
    while True:
        chosen = [file for file in left if _describes(file.path) or posixpath.basename(file.path) in wanted]
        if not chosen:
            return found
        left = [file for file in left if file not in chosen]
        for file in chosen:
            data = blobs.read(file.blob)
            if not _write(tree / file.path, data):
                found.append(replace(file, skipped=file.skipped or "not a document"))
                wanted |= _included(data)


def _included(data: bytes) -> set[str]:
    return {posixpath.basename(spelling) for _, spelling in include_spellings(data)}


def _describes(path: str) -> bool:
    return is_template(path) or posixpath.basename(path) == DATABASE or path == KBUILD


def is_plain(path: str) -> bool:
    """Whether `path` stays inside a folder whatever lies there: relative, no dot parts, no control characters."""
    parts = PurePosixPath(path).parts
    sound = bool(parts) and not path.startswith("/") and path == "/".join(parts) and path.isprintable()
    return sound and not any(part in (".", "..") or part == _RESERVED for part in parts) and "\\" not in path


def _write(target: Path, data: bytes) -> str:
    """Write a new file, never through a link; why not, or ""."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(data)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return file_policy.CLASHING_PATH
    return ""
