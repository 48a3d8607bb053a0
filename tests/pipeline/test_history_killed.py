"""A run through the stages of history, from v2 to v5, is killed at moments that a seed draws, and run again."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import pytest
from kill_anywhere import after, killed_when, undisturbed
from roots import data_hashes

from tests.commits.repository import Files, make_history

KILLS = int(os.environ.get("MEGACPP_TEST_KILLS", "3"))
SEED = 20
HISTORY = ("commits", "commit_documents", "commit_windows", "resolved_windows")
RECIPE = """
dataset = "killed"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["4k", "64k"]
[phases.4k]
blend = { v2_simple = 1.0, v3_simple = 1.0 }
[phases.64k]
blend = { v4 = 1.0, v5 = 1.0 }
[tokenizer]
vocabulary_size = 7200
[holdout]
share = 0.0
"""


def _file(number: int, factor: int) -> bytes:
    call = f"step{number - 1}(value)" if number else "value"
    return f'#include "lib.h"\nint step{number}(int value) {{\n  return {call} * {factor};\n}}\n'.encode()


def _commits() -> list[tuple[str, Files]]:
    header = "#pragma once\n" + "".join(f"int step{number}(int value);\n" for number in range(6))
    first: Files = {"lib.h": header.encode(), **{f"step{number}.cc": _file(number, 2) for number in range(6)}}
    changes = [
        (f"Multiply by {factor}", {f"step{factor % 6}.cc": _file(factor % 6, factor)}) for factor in range(3, 13)
    ]
    return [("Start", {**first, "LICENSE": b"MIT License\n"}), *changes]


def write_recipe(folder: Path) -> Path:
    """Write a repository, its catalogue and the recipe to `folder`; return the recipe's path."""
    make_history(folder / "lib", _commits())
    catalogue = f'[repo.lib]\nurl = "{folder / "lib"}"\nref = "v1"\nlicense = "MIT"\n'
    (folder / "catalogue.toml").write_text(catalogue)
    (folder / "killed.toml").write_text(RECIPE)
    return folder / "killed.toml"


def _without_history(made: Path, root: Path) -> Path:
    """A copy of a data root in which no stage of history has run."""
    shutil.copytree(made, root, symlinks=True)
    for stage in HISTORY:
        shutil.rmtree(root / stage, ignore_errors=True)
        shutil.rmtree(root / "receipts" / stage, ignore_errors=True)
    shutil.rmtree(root / "cache", ignore_errors=True)
    return root


@pytest.mark.campaign
def test_a_killed_run_of_two_workers_ends_with_the_bytes_of_one_worker(tmp_path: Path) -> None:
    arguments = ("--recipe", str(write_recipe(tmp_path)), "--until", "resolved_windows")
    expected, _ = undisturbed(tmp_path / "one", arguments)
    assert {name.split("/")[0] for name in expected} >= set(HISTORY)
    again, seconds = undisturbed(_without_history(tmp_path / "one", tmp_path / "again"), arguments)
    assert again == expected
    moments, hits, missed = random.Random(SEED), 0, 0
    while hits < KILLS and missed < KILLS:
        root = _without_history(tmp_path / "one", tmp_path / f"killed_{hits + missed}")
        started = time.monotonic()
        if killed_when(root, arguments, after(moments.uniform(0.02, 0.98) * seconds), workers=2):
            hits += 1
            undisturbed(root, arguments)
            assert data_hashes(root) == expected
        else:  # it ended before its kill: the next moment is drawn from a shorter time
            missed += 1
            seconds = min(seconds, time.monotonic() - started)
    assert hits == KILLS
