"""`megacpp bench wild`: a row for each library of a list, whatever becomes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.conftest import FOLDER
from tests.repos.git_tree import make_repository

_PAIR = "int part{n}(int value) {{ return value * {n} + {n}; }}\nint use{n}() {{ return part{n}({n}); }}\n"
GOOD = "".join(_PAIR.format(n=n) for n in range(40))


def test_each_library_has_a_row_and_one_that_fails_ends_no_other(tmp_path: Path) -> None:
    make_repository(tmp_path / "mirror/o/good", {"a.cc": GOOD.encode()}, "release/1.0")
    make_repository(tmp_path / "mirror/o/empty", {"README": b"no code\n"})
    listed = tmp_path / "list"
    listed.write_text("# name repository tag\ngone o/gone v1\nempty o/empty tip\ngood o/good release/1.0\n")
    mirror = f"{tmp_path}/mirror/{{owner}}/{{name}}"
    command = [sys.executable, str(FOLDER / "wild.py"), "--mirror", mirror, "--list", str(listed), "--seconds", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    gone, empty, good = map(json.loads, lines[:3])
    assert "SourceUnreachable" not in gone["failed"] and "gone" in gone["failed"]
    assert empty["failed"].startswith("semantic_jsonl.has_documents")
    assert (good["library"], good["tag"], good["units"], good["failed"]) == ("good", "release/1.0", 1, "")
    assert good["documents"] > 0 and good["cpu_seconds"] > 0 and good["calls_resolved"] == 100
    assert len(lines) == 3 + 2 + 3 and lines[-1].startswith("| good | release/1.0 | 1 |") and "passed" in lines[-1]
    assert done.returncode == 1 and "2 of 3 failed" in done.stderr


def test_a_malformed_list_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text("fmt fmtlib/fmt\n")
    command = [sys.executable, str(FOLDER / "wild.py"), "--list", str(listed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "line 1; expected NAME OWNER/NAME TAG" in done.stderr
