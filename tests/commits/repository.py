"""A small real repository whose history has what goes wrong in real ones, written with `git fast-import`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from megacpp_assets.commits.stage import CommitsSpec, run
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.commit import COMMITS_LIST, Commit, load_commit
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.git import git
from megacpp_assets.repos.pins import pin
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import json_lines

DATASET = "mine"
Files = Mapping[str, bytes | None]
"""Path -> content; None deletes the path. A path that ends in "@" is a submodule, its content the commit's id."""


def make_history(directory: Path, commits: Iterable[tuple[str, Files] | tuple[str, Files, tuple[int, ...]]]) -> None:
    """A bare repository whose branch `main` and tag `v1` are the last of `commits`.

    A commit is (message, files that change) and follows the one before it; a third part names further parents, by
    number from 1.
    """
    git("init", "--bare", "--quiet", str(directory))
    stream = [b"reset refs/heads/main\n"]
    for number, (message, files, *more) in enumerate(commits, start=1):
        text = message.encode()
        who = f"A Person <a.person@example.org> {1_700_000_000 + number} +0000\n"
        stream.append(
            f"commit refs/heads/main\nmark :{number}\ncommitter {who}data {len(text)}\n".encode() + text + b"\n"
        )
        parents = [number - 1, *(more[0] if more else ())] if number > 1 else []
        stream += [f"{'from' if place == 0 else 'merge'} :{parent}\n".encode() for place, parent in enumerate(parents)]
        stream += [_change(path, data) for path, data in files.items()]
    stream.append(b"reset refs/tags/v1\nfrom refs/heads/main\n")
    git("fast-import", "--quiet", git_dir=directory, stdin=b"".join(stream))
    git("symbolic-ref", "HEAD", "refs/heads/main", git_dir=directory)


def _change(path: str, data: bytes | None) -> bytes:
    if data is None:
        return f"D {path}\n".encode()
    if path.endswith("@"):
        return f"M 160000 {data.decode()} {path[:-1]}\n".encode()
    return f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def history_of(directory: Path, root: Path, recipe: HistoryRecipe) -> Artifact:
    """The artifact of the stage for the tag `v1` of the repository."""
    entry = CatalogueEntry(directory.name, str(directory), "v1", license="MIT")
    return run(CommitsSpec(root, DATASET, pin(entry, "v1", root), recipe))


def listed(artifact: Artifact) -> list[Commit]:
    """The listed commits, newest first."""
    return [load_commit(line) for line in json_lines(artifact.file(COMMITS_LIST), artifact.path)]
