"""Running the line as a user does, in a data root of its own, and hashing what it leaves."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.defs.home.instance import HOME_VARIABLE
from tests.cli.commands import exit_code

NOT_DATA = {"dagster", "receipts", ".locks", "cache", "corpus.lock.d", ".launches"}
"""Folders of a data root that hold facts of the machine, not data."""

SMALL_DATASET = "sample_semantic_4k_v1__sample_format__sample_kernel"
SMALL = ("--repos", "sample-format,sample-kernel", "--specialists", "base,small_cpp", "--set", "training.steps=4")
"""Two repositories and two mixtures, trained as briefly as a recipe may: every stage, in about 20 seconds."""


def command(*arguments: str) -> list[str]:
    """`megacpp ARGUMENTS` under this interpreter."""
    return [sys.executable, "-c", "from megacpp_assets.cli import main; main()", *arguments]


def environment(root: Path, workers: int = 1) -> dict[str, str]:
    """The caller's environment with its own data root. Each worker more costs the CPU time of its imports."""
    return {**os.environ, "MEGACPP_DATA_ROOT": str(root), "MEGACPP_WORKERS": str(workers), "COLUMNS": "160"}


def megacpp(root: Path, *arguments: str, workers: int = 1) -> subprocess.CompletedProcess[str]:
    """Run to the end and return what it said."""
    return subprocess.run(
        command(*arguments), env=environment(root, workers), capture_output=True, text=True, check=False
    )


def megacpp_here(root: Path, *arguments: str, workers: int = 1) -> subprocess.CompletedProcess[str]:
    """The same in this process, which has imported already what a short command needs most of its time for."""
    said, complained = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complained):
        for name, value in environment(root, workers).items():
            patch.setenv(name, value)
        patch.setenv(HOME_VARIABLE, "")  # the command sets it; afterwards it is as it was
        code = exit_code(patch, *arguments)
    return subprocess.CompletedProcess(arguments, int(code or 0), said.getvalue(), complained.getvalue())


def succeed(root: Path, *arguments: str, workers: int = 1) -> str:
    """What `megacpp ARGUMENTS`, which must succeed, printed in this process."""
    done = megacpp_here(root, *arguments, workers=workers)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_small(root: Path, extra: Sequence[str] = (), workers: int = 2) -> str:
    """The small line, which must succeed, in this process; returns its output."""
    return succeed(root, "run", *SMALL, *extra, workers=workers)


def data_hashes(root: Path) -> dict[str, str]:
    """sha256 of every data file of a root, by relative path."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    relative = {path.relative_to(root).as_posix(): path for path in files}
    return {name: sha256_file(path) for name, path in relative.items() if name.split("/")[0] not in NOT_DATA}
