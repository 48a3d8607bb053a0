"""Running git under our own configuration only: no hooks, filters, prompts, credentials, redirects or submodules."""

from __future__ import annotations

import re
import subprocess
from importlib import resources
from pathlib import Path

from megacpp_assets.contract.errors import EnvironmentLacks, SourceUnreachable
from megacpp_assets.storage.git_objects import git_environment

MINIMUM_GIT = (2, 39, 5)
"""Older releases follow hostile submodules and links (CVE-2024-32002 and its family)."""
_TIMEOUT_S = 3600


class GitFailed(SourceUnreachable):
    """A git command ended with an error; the message carries git's own words."""


def environment() -> dict[str, str]:
    """The environment of every git command of this package."""
    config = resources.files("megacpp_assets.repos").joinpath("git.config")
    return {**git_environment(), "GIT_CONFIG_GLOBAL": str(config)}


def git(*arguments: str, git_dir: Path | None = None, stdin: bytes | None = None) -> bytes:
    """Standard output of `git ARGUMENTS`; `GitFailed` on a non-zero exit."""
    command = ["git", *(["--git-dir", str(git_dir)] if git_dir else []), *arguments]
    result = subprocess.run(
        command, input=stdin, capture_output=True, env=environment(), timeout=_TIMEOUT_S, check=False
    )
    if result.returncode != 0:
        words = " ".join(result.stderr.decode(errors="replace").split())
        raise GitFailed(f"git {arguments[0]}", expected="exit 0", found=f"exit {result.returncode}: {words[-600:]}")
    return result.stdout


def require_git() -> str:
    """The version of git as text; `EnvironmentLacks` if it is missing or older than `MINIMUM_GIT`."""
    minimum = ".".join(map(str, MINIMUM_GIT))
    try:
        text = git("--version").decode()
    except FileNotFoundError as error:
        raise EnvironmentLacks("git", expected=f"{minimum} or newer", found="none", do="apt-get install git") from error
    found = tuple(int(part) for part in re.findall(r"\d+", text)[:3])
    if found < MINIMUM_GIT:
        raise EnvironmentLacks("git", expected=f"{minimum} or newer", found=text.strip(), do="upgrade git")
    return ".".join(map(str, found))
