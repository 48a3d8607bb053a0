"""The benchmark of composing takes the composer's time alone, and prints it beside that of the parses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import composing
import pytest

from tests.benchmarks.conftest import FOLDER
from tests.repos.git_tree import make_repository

SOURCE = """#include <algorithm>
#include <map>
#include <regex>
#include <string>
std::map<std::string, int> sizes_{0}();
int largest_{0}() {{
  int most = 0;
  for (const auto& [name, size] : sizes_{0}()) most = std::max(most, size);
  return most;
}}
"""
FILES = {f"src/largest_{number}.cc": SOURCE.format(number).encode() for number in range(12)}
LICENCE = {"LICENSE": (Path(__file__).parents[2] / "LICENSE").read_bytes()}
"""Sources that take longer to parse than the start of a worker varies."""


def test_the_time_of_the_reader_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(composing.time, "process_time", lambda: now)
    watch = composing.Stopwatch()

    def results() -> object:
        nonlocal now
        for _ in range(3):
            now += 1
            yield now

    for _ in watch.around(results)():
        now += 100
    assert watch.seconds == 3


def test_a_line_has_the_seconds_of_both_sides(tmp_path: Path) -> None:
    make_repository(tmp_path / "sizes", FILES | LICENCE)
    command = [sys.executable, str(FOLDER / "composing.py"), "--budget", "1024", f"{tmp_path}/sizes@v1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = map(json.loads, done.stdout.splitlines())
    assert line["figure"] == "composing of sizes v1, 1024 tokens"
    assert line["ours"] > 0 and line["ratio"] == pytest.approx(line["ours"] / line["peer"], rel=1e-4)
