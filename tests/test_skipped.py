"""What a test run skipped stands in its last lines, by name and counted, with any number of workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

lacking = pytest.mark.skipif(True, reason="needs a cage: apt-get install cage")

@lacking
@pytest.mark.parametrize("case", ["a", "b", "c"])
def test_caged(case): ...

@lacking
def test_more(): ...

def test_imports():
    pytest.importorskip("no_such_module_anywhere", reason="pip install it")

def test_runs(): ...
"""
MODULE = 'import pytest\npytest.skip("no card", allow_module_level=True)\n'
EXPECTED = """\
4 skipped: needs a cage: apt-get install cage
    test_several.py::test_caged (3 cases)
    test_several.py::test_more
1 skipped: no card
    test_module.py
1 skipped: pip install it
    test_several.py::test_imports
"""


def outcome(folder: Path, *options: str) -> str:
    # Files of its own: a run without them clears away what earlier ones have left in /tmp, which took a minute.
    places = ["--rootdir", str(folder), "--basetemp", str(folder.with_suffix(".base"))]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.skipped", *places, *options, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_what_was_skipped_is_named_and_counted_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    (tmp_path / "test_several.py").write_text(TESTS)
    (tmp_path / "test_module.py").write_text(MODULE)
    out = outcome(tmp_path, *options)
    header, _, rest = out.partition(" 6 skipped tests ")
    assert header and EXPECTED in rest
    assert len(rest.partition(EXPECTED)[2].splitlines()) == 1, "only the counts of all tests come after it"


def test_nothing_is_said_where_nothing_was_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    (tmp_path / "test_one.py").write_text("def test_runs(): ...\n")
    assert "skipped" not in outcome(tmp_path)
