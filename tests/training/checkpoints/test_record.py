"""What a checkpoint writes beside its tensors."""

from __future__ import annotations

import json

import pytest

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.training.checkpoints.record import (
    CheckpointConfig,
    StepMetrics,
    loss_fell,
    parse_metrics,
    quarter_losses,
)


def test_a_metrics_line_gives_back_the_exact_loss() -> None:
    steps = [StepMetrics(1, 0.1 + 0.2, 7), StepMetrics(2, 1 / 3, 8)]
    data = "".join(step.to_line() for step in steps).encode()
    assert parse_metrics(data, "m") == steps
    assert json.loads(data.splitlines()[0])["loss_hex"] == (0.1 + 0.2).hex()


def test_a_malformed_metrics_file_is_rejected() -> None:
    for data in (b"{}\n", b"nonsense\n", b'{"step": 1, "loss_hex": "zz", "tokens": 1}\n'):
        with pytest.raises(LineageGap, match="metrics"):
            parse_metrics(data, "metrics.jsonl")


def test_a_malformed_configuration_is_rejected() -> None:
    for data in (b"{}", b"[]", b"{"):
        with pytest.raises(LineageGap, match=r"config\.json"):
            CheckpointConfig.from_bytes(data, "config.json")


def test_a_loss_falls_when_its_last_quarter_is_below_its_first() -> None:
    assert loss_fell([9, 8, 7, 6, 5, 4, 3, 2])
    assert quarter_losses([9, 8, 7, 6, 5, 4, 3, 2]) == (8.5, 2.5)
    assert not loss_fell([2, 2, 2, 2])
    assert not loss_fell([2, 2, 2, 3])
    assert not loss_fell([2, 1, 1, float("nan")])
    assert not loss_fell([])
