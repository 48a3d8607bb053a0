"""A list of copies across repositories: JSONL, a line for each file that has a copy in another repository.

`megacpp copies` writes the list, and a recipe names it with its sha256. Which files a repository loses follows from its
own lines alone, so lines of other repositories change nothing that was made of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import SpecError


@dataclass(frozen=True, slots=True)
class SharedCopy:
    """A file of the repository `repo` at `path` with the content `blob`, a member of a cluster of copies.

    `cluster` is the same for all members. `stays` is `NAME:PATH` of the copy that stays, "" for that copy itself and
    for members that are not similar enough to it.
    """

    cluster: str
    repo: str
    path: str
    blob: str
    stays: str


def ordered(copies: Iterable[SharedCopy]) -> list[SharedCopy]:
    """Return copies by cluster, repository and path."""
    return sorted(copies, key=lambda copy: (copy.cluster, copy.repo, copy.path.encode("utf-8", "surrogateescape")))


def dump_copies(copies: Iterable[SharedCopy]) -> bytes:
    """Return the list as JSON lines, in order."""
    return "".join(f"{json.dumps(asdict(copy), sort_keys=True)}\n" for copy in ordered(copies)).encode()


def load_copies(sha256: str, path: str) -> tuple[SharedCopy, ...]:
    """Return the lines of the list at `path`.

    `SpecError` for a file that is missing, has another hash, or has a line that is not a `SharedCopy`.
    """
    where = f"list of copies {path}"
    try:
        return _loaded(sha256, path, Path(path).stat().st_mtime_ns)
    except OSError as error:
        do = "write it again with megacpp copies --write, or correct curation.shared_copies"
        raise SpecError(where, expected="a readable file", found=error.strerror or str(error), do=do) from error


def of_repository(copies: Iterable[SharedCopy], repo: str) -> list[SharedCopy]:
    """Return the lines of the repository called `repo`."""
    return [copy for copy in copies if copy.repo == repo]


def digest(copies: Sequence[SharedCopy]) -> str:
    """Return the sha256 of lines; "" for none."""
    return sha256_bytes(dump_copies(copies)) if copies else ""


@lru_cache(maxsize=8)
def _loaded(sha256: str, path: str, changed_ns: int) -> tuple[SharedCopy, ...]:
    data, where = Path(path).read_bytes(), f"list of copies {path}"
    if sha256_bytes(data) != sha256:
        do = "write what sha256sum prints into curation.shared_copies"
        raise SpecError(where, expected=f"sha256 {sha256}", found=f"sha256 {sha256_bytes(data)}", do=do)
    return tuple(_parsed(data.decode("utf-8", "replace"), where))


def _parsed(text: str, where: str) -> Iterator[SharedCopy]:
    names = [field.name for field in fields(SharedCopy)]
    expected = f"a JSON object with the texts {', '.join(names)}"
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            values = json.loads(line)
            row = [values[name] for name in names]
        except (ValueError, KeyError, TypeError) as error:
            raise SpecError(
                f"{where}, line {number}",
                expected=expected,
                found=line[:60],
                do="write the list again with megacpp copies --write",
            ) from error
        if not all(isinstance(value, str) for value in row):
            raise SpecError(
                f"{where}, line {number}",
                expected=expected,
                found=line[:60],
                do="write the list again with megacpp copies --write",
            )
        yield SharedCopy(*row)
