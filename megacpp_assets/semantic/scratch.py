"""The selected blobs of a commit as plain files in a scratch folder, for the compiler to read; never a link."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.semantic.text import SourceText, decode, refusal
from megacpp_assets.storage.git_objects import BlobReader

REFUSED_PATH = "path is not a plain relative path"
REFUSED_CLASH = "path clashes with another file's folder"
_RESERVED = ".megacpp"


@dataclass(frozen=True, slots=True)
class Sources:
    """What was taken and what was left out: texts by path order, and (file, reason)."""

    taken: tuple[tuple[SourceFile, SourceText], ...]
    refused: tuple[tuple[SourceFile, str], ...]


def export(tree: Path, files: Iterable[SourceFile], blobs: BlobReader, limit: int) -> Sources:
    """Write each selected file that the text policy accepts below `tree`; `limit` is the largest file in bytes."""
    taken: list[tuple[SourceFile, SourceText]] = []
    refused: list[tuple[SourceFile, str]] = []
    for file in sorted(files, key=lambda entry: entry.path.encode()):
        if not file.language:
            continue
        reason = file.skipped or ("" if is_plain(file.path) else REFUSED_PATH)
        data = b"" if reason else blobs.read(file.blob)
        reason = reason or refusal(data, limit) or _write(tree / file.path, data)
        if reason:
            refused.append((file, reason))
        else:
            taken.append((file, decode(file.path, data)))
    return Sources(tuple(taken), tuple(refused))


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
        return REFUSED_CLASH
    return ""
