"""Megatron's tensor parallelism on CPUs: structure and n-grams are the same on both processes, and saved once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def test_two_processes_train_as_one_and_each_table_is_saved_once(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tests.training.megatron.tensor_parallel", str(tmp_path)], check=True)
    whole, first, second = (json.loads((tmp_path / name).read_text()) for name in ("1.0", "2.0", "2.1"))
    assert first["losses"] == pytest.approx(whole["losses"], rel=1e-4) and whole["losses"][-1] < whole["losses"][0]
    assert first["added"] == second["added"], "no process's tables drift from the other's"
    for name, values in whole["added"].items():
        assert first["added"][name] == pytest.approx(values, abs=1e-4), name
    assert set(map(tuple, first["replicas"].values())) == {(0, 0, 0)}
    assert set(map(tuple, second["replicas"].values())) == {(0, 1, 0)}


@pytest.mark.campaign
def test_two_stages_that_both_embed_save_each_table_once(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tests.training.megatron.two_stages", str(tmp_path)], check=True)
    first, second = (json.loads((tmp_path / f"{stage}.json").read_text()) for stage in range(2))
    assert first["replicas"].keys() == second["replicas"].keys() != set()
    assert {replica[0] for replica in first["replicas"].values()} == {0}
    assert {replica[0] for replica in second["replicas"].values()} == {1}
    ours, unstamped = first["complaints"]
    assert ours == "" and "Invalid access pattern" in unstamped, "Megatron's check finds a table that is saved twice"
