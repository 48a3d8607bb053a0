"""The benchmark of a step: both sides reach the same loss and the same bits per byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import step as bench

from tests.training.world import tiny_root

SET = ("layers=1", "hidden=16", "structure_bottleneck=8", "batch_rows=2")


def test_the_step_before_reaches_the_same_loss_and_bits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], one_core: None
) -> None:
    settings = [word for each in SET for word in ("--set", f"training.{each}")]
    data = ["--data-root", str(tiny_root(tmp_path)), "--recipe", "sample", "--dataset", "tiny_v1"]
    bench.main([*data, "--runs", "1", "--steps", "6", *settings])
    loss, bits, seconds = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert loss["ratio"] == pytest.approx(1, abs=1e-5) and bits["ratio"] == pytest.approx(1, abs=1e-5)
    assert loss["ours"] > 0 and bits["unit"] == "bits/byte" and seconds["unit"] == "CPU-s"
