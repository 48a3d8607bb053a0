"""A removal: a repository, or files of one, that a dataset leaves out permanently, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.sources.file_policy import REMOVED
from megacpp_assets.contract.sources.source_file import SourceFile


@dataclass(frozen=True, slots=True, order=True)
class Removal:
    """A removal. `path` is a shell pattern for whole paths ('*' also matches '/'), or "" for the whole repository.

    Raises `SpecError` for an invalid name, a missing reason, or characters that are not printable.
    """

    repository: str
    path: str
    reason: str

    def __post_init__(self) -> None:
        RepoRef.parse(f"{self.repository}@any")
        for what, text in (("path", self.path), ("reason", self.reason)):
            if not text.isprintable():
                raise SpecError(
                    f"{what} of a removal",
                    expected="characters that print, on one line",
                    found=repr(text),
                    do="leave the other characters out",
                )
        if not self.reason.strip():
            raise SpecError(f"removal of {self.what}", expected="a reason", found="none", do="--reason TEXT")

    @property
    def what(self) -> str:
        """`NAME`, or `NAME:PATTERN`."""
        return f"{self.repository}:{self.path}" if self.path else self.repository


def takes(patterns: Sequence[str], path: str) -> bool:
    """Return whether one of `patterns` matches the whole `path`."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def without_removed(files: Iterable[SourceFile], patterns: Sequence[str]) -> list[SourceFile]:
    """Return all files; those that match `patterns` are marked as skipped with the reason `REMOVED`."""
    return [
        replace(file, skipped=REMOVED) if not file.skipped and takes(patterns, file.path) else file for file in files
    ]
