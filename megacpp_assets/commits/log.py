"""Reads a history: `git log --raw` as records, and which of the named blobs are missing or how large they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.repos.git import RecordTooLong, git, git_records

HISTORY_REF: Final = "refs/megacpp/history"
SINCE_REF: Final = "refs/megacpp/since"
NO_OBJECT: Final = "0" * 40
_FORMAT: Final = "%H%x00%P%x00%at %ct%x00%B"
_MESSAGE_BYTES: Final = 1 << 20
RENAME_LIMIT: Final = 400
"""Git's limit for the search of renames in one commit. Above it the files stay additions and deletions."""


class RawChange(NamedTuple):
    """A line of `git log --raw`: modes and object ids of both sides, the status letter, the path before and after."""

    mode_pre: str
    mode_post: str
    blob_pre: str
    blob_post: str
    status: str
    old_path: str
    path: str


@dataclass(frozen=True, slots=True)
class RawCommit:
    """A commit as git shows it. The changes of a merge are those against its first parent."""

    commit: str
    parents: tuple[str, ...]
    author_time: int
    commit_time: int
    message: str
    changes: tuple[RawChange, ...]


def read_log(git_dir: Path, recipe: HistoryRecipe) -> Iterator[RawCommit]:
    """Yield the commits that `HISTORY_REF` reaches, newest first, within the bounds of the recipe.

    Raises `SpecError` for a record above 1 MiB, which no real commit message reaches, and the errors of `git`.
    """
    records = git_records(*_arguments(recipe), git_dir=git_dir, longest=_MESSAGE_BYTES)
    try:
        yield from _commits(records)
    except RecordTooLong as error:
        expected = f"messages and paths of at most {_MESSAGE_BYTES:,} bytes"
        raise SpecError(f"history in {git_dir}", expected=expected, found="a longer one") from error


def _arguments(recipe: HistoryRecipe) -> list[str]:
    arguments = ["log", "--raw", "-z", "--no-abbrev", "-M", f"-l{RENAME_LIMIT}", "--root", "--topo-order"]
    arguments += [f"--format={_FORMAT}", "--encoding=UTF-8", "--diff-merges=first-parent"]
    arguments += ["--first-parent"] if recipe.first_parent else []
    arguments += [f"--max-count={recipe.most_commits}"] if recipe.most_commits else []
    arguments += [f"--since={recipe.since_date}T00:00:00Z"] if recipe.since_date else []
    return [*arguments, HISTORY_REF, *([f"^{SINCE_REF}"] if recipe.since_tag else []), "--"]


def _commits(records: Iterable[bytes]) -> Iterator[RawCommit]:
    """Yield the commits. Each is four records, then one for each change, with one or two for the paths of that
    change.
    """
    stream = iter(records)
    record = next(stream, None)
    while record is not None:
        parents, times, message = next(stream), next(stream), next(stream)
        changes: list[RawChange] = []
        following = next(stream, None)
        while following is not None and following.lstrip(b"\n").startswith(b":"):
            changes.append(_change(following, stream))
            following = next(stream, None)
        author, committed = times.split()
        yield RawCommit(
            record.decode(), tuple(parents.decode().split()), int(author), int(committed),
            message.decode("utf-8", "replace"), tuple(changes),
        )  # fmt: skip
        record = following


def _change(record: bytes, stream: Iterator[bytes]) -> RawChange:
    mode_pre, mode_post, blob_pre, blob_post, status = record.lstrip(b"\n:").decode().split(" ")
    first = _path(next(stream))
    path = _path(next(stream)) if status[0] in "RC" else first
    return RawChange(mode_pre, mode_post, blob_pre, blob_post, status[0], first, path)


def _path(record: bytes) -> str:
    return record.decode("utf-8", "surrogateescape")


def shallow_commits(git_dir: Path) -> frozenset[str]:
    """Return the commits whose parents were not fetched. Git shows such a commit as if it added all of its files."""
    shallow = git_dir / "shallow"
    return frozenset(shallow.read_text(encoding="ascii").split()) if shallow.exists() else frozenset()


def blob_sizes(git_dir: Path, blobs: Iterable[str]) -> dict[str, int]:
    """Return the size in bytes of each of `blobs` that exists. A missing blob is left out, and never fetched."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    answers = git("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", git_dir=git_dir, stdin=asked)
    found = (line.split() for line in answers.decode().splitlines())
    return {blob: int(size) for blob, size in found if size != "missing"}
