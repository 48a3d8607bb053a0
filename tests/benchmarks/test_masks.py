"""The experiment on masks: what each arm sees of a row, and that it prints what was measured on held-out documents."""

from __future__ import annotations

import json
from pathlib import Path

import masks as bench
import numpy as np
import pytest
import torch

from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.network.size import model_config
from tests.training.world import batch_of, tiny_recipe, tiny_root

SET = ("layers=1", "hidden=16", "heads=2", "structure_bottleneck=8", "steps=4", "batch_rows=2", "threads=1")


def test_without_masks_a_token_sees_the_document_before_its_own() -> None:
    torch.manual_seed(0)
    model, cpu = GPT(model_config(tiny_recipe(), 100)), torch.device("cpu")
    rows = [batch_of([[2, first, 9], [2, 8, 7]], row_tokens=6) for first in (5, 60)]
    masked, mixed = (
        [model.logits(model_input(way(batch), cpu))[0, 3:] for batch in rows] for way in (same, bench.unmasked)
    )
    assert torch.equal(*masked) and not torch.allclose(*mixed)
    assert np.array_equal(bench.unmasked(rows[0]).loss_mask, rows[0].loss_mask), "what is predicted is the same"


def same(batch: bench.RowBatch) -> bench.RowBatch:
    return batch


def test_a_line_for_masks_and_one_for_structure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [word for each in SET for word in ("--set", f"training.{each}")]
    bench.main(["--data-root", str(tiny_root(tmp_path)), "--dataset", "tiny_v1", "--seeds", "1", *settings])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["peer_name"] for line in lines] == ["no masks", "no structure"]
    assert lines[0]["ours"] == lines[1]["ours"] > 0 and lines[0]["peer"] != lines[0]["ours"]
