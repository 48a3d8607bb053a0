"""The steps for the first hour on a card run on a CPU at toy size, so that they work when a card is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.tokenizer.webgpu.adapter import open_adapter

SCRIPT = Path(__file__).parents[2] / "tools" / "first_hour_on_a_gpu.sh"
STEPS = ("card", "masks", "losses", "throughput", "lengths", "compiled", "resume", "group")


def run_script(*arguments: str) -> tuple[int, list[dict[str, object]]]:
    environment = os.environ | {"PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([str(SCRIPT), *arguments], stdout=subprocess.PIPE, text=True, check=False, env=environment)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.campaign
def test_every_step_prints_its_figures_on_a_cpu() -> None:
    steps = (*STEPS, *(["tokenizer"] if has_adapter() else []))
    status, lines = run_script("cpu", *steps)
    figures = Counter(line.get("step", "tokenizer") for line in lines)
    assert status == 0 and not any("failed" in line for line in lines), lines
    assert set(figures) == set(steps) and figures["masks"] == 16
    assert all(line["value"] is not False for line in lines if "value" in line)


def test_a_step_that_fails_is_a_line_and_the_next_one_runs() -> None:
    status, lines = run_script("cpu", "nowhere", "group")
    assert status == 1
    assert lines[0] == {"step": "nowhere", "failed": "status 1"} and lines[1]["value"] is True


def has_adapter() -> bool:
    try:
        open_adapter()
    except EnvironmentLacks:
        return False
    return True
