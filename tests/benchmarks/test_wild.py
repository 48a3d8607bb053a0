"""`megacpp bench wild`: a row for each library of a list, whatever becomes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.conftest import FOLDER
from tests.repos.git_tree import make_repository


def test_a_library_that_fails_is_a_row_and_ends_no_other(tmp_path: Path) -> None:
    make_repository(tmp_path / "mirror/o/empty", {"README": b"no code\n"})
    listed = tmp_path / "list"
    listed.write_text("# name repository tag\ngone o/gone v1\nempty o/empty v1\n")
    mirror = f"{tmp_path}/mirror/{{owner}}/{{name}}"
    command = [sys.executable, str(FOLDER / "wild.py"), "--mirror", mirror, "--list", str(listed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    gone, empty = map(json.loads, lines[:2])
    assert "gone" in gone["failed"] and gone["units"] == 0
    assert (empty["library"], empty["tag"], empty["units"]) == ("empty", "v1", 0)
    assert empty["failed"].startswith("pinned_repos.has_sources: ") and empty["cpu_seconds"] > 0
    assert len(lines) == 2 + 2 + 2 and lines[-1].startswith("| empty | v1 | 0 |")
    assert done.returncode == 1 and "2 of 2 failed" in done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("error: pinned_repos lib@v1\n  expected 1\n  found 0\n", "pinned_repos lib@v1"),
        ("error: Traceback (most recent call last):\n  File x\nKeyError: 'lib'\n\n", "KeyError: 'lib'"),
        ("Traceback (most recent call last):\n  File x\nValueError: planted\n", "ValueError: planted"),
        ("", "exit code -9"),
    ],
)
def test_the_reason_of_a_crash_is_its_last_line_and_not_the_word_traceback(words: str, reason: str) -> None:
    import wild

    assert wild.failure_of(words, -9) == reason


def test_a_malformed_list_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text("fmt fmtlib/fmt\n")
    command = [sys.executable, str(FOLDER / "wild.py"), "--list", str(listed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "line 1; expected NAME OWNER/NAME TAG" in done.stderr
