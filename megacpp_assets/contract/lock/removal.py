"""A tombstone: what a dataset leaves out for good, a repository or files of one, and why."""

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
    """`path` is a pattern as in a shell, over whole paths ('*' takes '/' too), or "" for all of the repository.

    `SpecError` for what is no name, for no reason, and for characters that do not print.
    """

    repository: str
    path: str
    reason: str

    def __post_init__(self) -> None:
        RepoRef.parse(f"{self.repository}@any")
        for what, text in (("path", self.path), ("reason", self.reason)):
            if not text.isprintable():
                raise SpecError(f"{what} of a removal", expected="characters that print, on one line", found=repr(text))
        if not self.reason.strip():
            raise SpecError(f"removal of {self.what}", expected="a reason", found="none", do="--reason TEXT")

    @property
    def what(self) -> str:
        """`NAME`, or `NAME:PATTERN`."""
        return f"{self.repository}:{self.path}" if self.path else self.repository


def takes(patterns: Sequence[str], path: str) -> bool:
    """Whether one of `patterns` matches the whole of `path`."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def without_removed(files: Iterable[SourceFile], patterns: Sequence[str]) -> list[SourceFile]:
    """All files, those that `patterns` take marked as left out for that reason."""
    return [
        replace(file, skipped=REMOVED) if not file.skipped and takes(patterns, file.path) else file for file in files
    ]
