"""A commit and its changed files, as the stage `commits` lists them: one JSON line a commit, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import orjson

COMMITS_LIST: Final = "commits.jsonl.zst"
NO_BLOB: Final = ""
"""The blob of the side on which the file does not exist."""


@dataclass(frozen=True, slots=True)
class Change:
    """One C or C++ file of a commit.

    `status` is A (added), M (modified), D (deleted) or R (renamed, `old_path` is the path before). `blob_pre` and
    `blob_post` are the object ids of both sides, or `NO_BLOB`. `names` is every path that the file has had in the
    listed history; it tells which side of the hold-out the file is on. `file_index` numbers the changes of one file,
    oldest first, from 0.
    """

    status: str
    path: str
    old_path: str
    blob_pre: str
    blob_post: str
    language: str
    names: tuple[str, ...]
    file_index: int

    @property
    def sides(self) -> tuple[str, str]:
        """The blobs before and after."""
        return self.blob_pre, self.blob_post


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with its cleaned message. Times are seconds since 1970; `body` has no names and no addresses."""

    commit: str
    parents: tuple[str, ...]
    author_time: int
    commit_time: int
    subject: str
    body: str
    changes: tuple[Change, ...]


def commit_lines(commits: Iterable[Commit]) -> Iterator[bytes]:
    """Return one JSON line for each commit, in the order given."""
    return (orjson.dumps(commit, option=orjson.OPT_APPEND_NEWLINE) for commit in commits)


def load_commit(line: bytes) -> Commit:
    """Do the inverse of `commit_lines`, for one line."""
    record = orjson.loads(line)
    changes = tuple(Change(**{**each, "names": tuple(each["names"])}) for each in record.pop("changes"))
    return Commit(**{**record, "parents": tuple(record["parents"]), "changes": changes})
