"""Small real git repositories for the tests of `pinned_repos`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

_PERSON = {
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.invalid", "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.invalid", "GIT_COMMITTER_DATE": "1700000000 +0000",
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"],
}  # fmt: skip


def git(directory: Path, *arguments: str) -> str:
    """Run git in `directory` with a fixed identity."""
    done = subprocess.run(["git", *arguments], cwd=directory, env=_PERSON, capture_output=True, check=True)
    return done.stdout.decode().strip()


def bare_repository(directory: Path, tree: Callable[[Callable[..., str]], str]) -> None:
    """A bare repository with tag `v1` on a commit of the tree that `tree` makes with the git it is given."""

    def command(*arguments: str, text: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=directory, env=_PERSON, input=text, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    directory.mkdir(parents=True)
    command("init", "-q", "--bare")
    command("update-ref", "refs/tags/v1", command("commit-tree", tree(command), "-m", "v1"))


def make_repository(directory: Path, files: dict[str, bytes], tag: str = "v1") -> str:
    """A repository with one commit of `files`, tagged; returns the commit id."""
    directory.mkdir(parents=True)
    git(directory, "init", "-q", "-b", "main")
    return commit(directory, files, tag)


def commit(directory: Path, files: dict[str, bytes], tag: str) -> str:
    """Add a commit of `files` and (re)tag it."""
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", tag)
    git(directory, "tag", "-f", "-a", tag, "-m", tag)
    return git(directory, "rev-parse", "HEAD")
