"""The tokenizer registry: a bare git repository in which each tokenizer is one commit without a parent.

A commit's id is a pure function of its files and its dataset's name: author, committer and date are fixed. The branch
of a dataset names its newest tokenizer. Every tokenizer keeps a reference of its own, and one under the fingerprint of
its training, so that an equal training finds it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from megacpp_assets.contract.errors import EnvironmentLacks, LineageGap
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.git_objects import git_environment
from megacpp_assets.storage.root.layout import REGISTRY
from megacpp_assets.storage.root.locks import writing

_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "megacpp"), ("EMAIL", "megacpp@localhost"), ("DATE", "2000-01-01T00:00:00+0000"))
}
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def commit_tokenizer(root: Path, dataset: str, files: Mapping[str, bytes], training: str) -> str:
    """Commit `files` as the newest tokenizer of `dataset`. `training` is the fingerprint of its training.

    Returns the commit id; equal files give the same id.
    """
    repository = _open(root)
    with writing(root, REGISTRY):
        _clean(repository)
        entries = (
            f"100644 blob {_git(repository, 'hash-object', '-w', '--stdin', data=data)}\t{name}\n"
            for name, data in sorted(files.items())
        )
        tree = _git(repository, "mktree", data="".join(entries).encode())
        commit = _git(repository, "commit-tree", tree, "-m", f"Tokenizer of {dataset}")
        for reference in (f"refs/tokenizers/{commit}", f"refs/heads/{dataset}", _trained_from(training)):
            write_atomic(repository / reference, f"{commit}\n".encode())
    return commit


def read_committed(root: Path, commit: str, name: str) -> bytes:
    """Return the bytes of file `name` of a tokenizer's commit. `LineageGap` if the registry lacks it."""
    repository = root / REGISTRY
    if not _COMMIT.fullmatch(commit) or not (repository / "HEAD").is_file():
        raise LineageGap(f"{REGISTRY}, commit {commit}", expected=name, found="none", do="train the tokenizer again")
    return _run(repository, "cat-file", "blob", f"{commit}:{name}")


def trained_commit(root: Path, training: str) -> str | None:
    """Return the commit of the tokenizer whose training has the fingerprint `training`, or None."""
    reference = root / REGISTRY / _trained_from(training)
    return reference.read_text(encoding="ascii").strip() if reference.is_file() else None


def registered_commits(root: Path) -> list[str]:
    """Return all commits of the registry, sorted."""
    folder = root / REGISTRY / "refs" / "tokenizers"
    return sorted(file.name for file in folder.iterdir() if _COMMIT.fullmatch(file.name)) if folder.is_dir() else []


def _trained_from(training: str) -> str:
    return f"refs/trained/{training}"


def _open(root: Path) -> Path:
    """Return the repository. It is created by hand: `git init` copies templates of the machine and can be
    interrupted.
    """
    repository = root / REGISTRY
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tokenizers"):
        (repository / folder).mkdir(parents=True, exist_ok=True)
    for name, data in (("config", _CONFIG), ("HEAD", b"ref: refs/heads/main\n")):
        if not (repository / name).is_file():
            write_atomic(repository / name, data)
    return repository


def _clean(repository: Path) -> None:
    """Remove files that a killed git left behind."""
    for leftover in repository.glob("objects/**/tmp_obj_*"):
        leftover.unlink()


def _git(repository: Path, *arguments: str, data: bytes = b"") -> str:
    return _run(repository, *arguments, data=data).decode("ascii").strip()


def _run(repository: Path, *arguments: str, data: bytes = b"") -> bytes:
    command = ["git", "--git-dir", str(repository), "-c", "core.fsync=all", *arguments]
    try:
        done = subprocess.run(command, input=data, capture_output=True, env=git_environment() | _IDENTITY, check=False)
    except FileNotFoundError as error:
        raise EnvironmentLacks("git", expected="git on PATH", found="none", do="install git") from error
    if done.returncode != 0:
        raise LineageGap(
            f"{REGISTRY}: git {arguments[0]}",
            expected="success",
            found=done.stderr.decode(errors="replace").strip(),
            do="check the registry with git fsck, or restore it from a copy",
        )
    return done.stdout
