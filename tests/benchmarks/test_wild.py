"""`megacpp bench wild`: a row for each library of a list, whatever becomes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_a_malformed_list_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text("fmt fmtlib/fmt\n")
    command = [sys.executable, str(FOLDER / "wild.py"), "--list", str(listed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "line 1; expected NAME OWNER/NAME TAG" in done.stderr
