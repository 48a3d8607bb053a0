"""Each check of a trained checkpoint, with the fault that it is there to catch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from megacpp_assets.quality.trained import CHECKS, check
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.trained.stage import target
from megacpp_assets.training.checkpoints.record import StepMetrics, read_metrics
from megacpp_assets.training.loop import train
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks
from tests.quality.planting import pin_another_tokenizer, seal
from tests.training.world import tiny_root, tiny_spec


@pytest.fixture
def checkpoint(tmp_path: Path) -> Artifact:
    """A real checkpoint of a real run."""
    spec = tiny_spec(tiny_root(tmp_path))
    alone = Ranks(0, 1, torch.device("cpu"))
    assert train(spec, alone, StopRequest(), live_metrics=tmp_path / "live.jsonl")
    return open_artifact(tmp_path, target(spec).path)


def failures(artifact: Artifact) -> list[str]:
    return [result.name for result in check(artifact) if not result.passed]


def with_config(artifact: Artifact, change: Callable[[dict[str, Any]], object]) -> Artifact:
    file = artifact.file("config.json")
    raw = json.loads(file.read_bytes())
    change(raw)
    file.write_text(json.dumps(raw))
    return seal(artifact)


def with_metrics(artifact: Artifact, change: Callable[[list[StepMetrics]], list[StepMetrics]]) -> Artifact:
    lines = "".join(metrics.to_line() for metrics in change(read_metrics(artifact)))
    artifact.file("metrics.jsonl").write_text(lines)
    return seal(artifact)


def with_value(artifact: Artifact, name: str, value: float) -> Artifact:
    file = artifact.file(name)
    tensors = load_file(file)
    key = sorted(tensors)[-1]
    tensors[key] = np.array(tensors[key])
    tensors[key].flat[0] = value
    save_file(tensors, file)
    return seal(artifact)


def test_a_good_checkpoint_passes_every_check(checkpoint: Artifact) -> None:
    results = check(checkpoint)
    assert [result.name for result in results] == [check.name for check in CHECKS]
    assert all(result.passed for result in results), results


def test_a_missing_step_is_caught(checkpoint: Artifact) -> None:
    assert failures(with_metrics(checkpoint, lambda steps: steps[:-1])) == ["steps_are_the_recipes"]


def test_a_repeated_step_is_caught(checkpoint: Artifact) -> None:
    assert failures(with_metrics(checkpoint, lambda steps: [steps[0], *steps[:-1]])) == ["steps_are_the_recipes"]


def test_an_earlier_checkpoint_than_the_recipes_last_is_caught(checkpoint: Artifact) -> None:
    assert failures(with_config(checkpoint, lambda raw: raw.update(step=8))) == ["steps_are_the_recipes"]


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_not_a_number_is_caught(checkpoint: Artifact, loss: float) -> None:
    def spoil(steps: list[StepMetrics]) -> list[StepMetrics]:
        return [StepMetrics(m.step, loss if m.step == 6 else m.loss, m.tokens) for m in steps]

    assert failures(with_metrics(checkpoint, spoil)) == ["losses_are_finite"]


def test_a_loss_that_rose_is_caught(checkpoint: Artifact) -> None:
    def reverse(steps: list[StepMetrics]) -> list[StepMetrics]:
        return [StepMetrics(now.step, then.loss, now.tokens) for now, then in zip(steps, reversed(steps), strict=True)]

    assert failures(with_metrics(checkpoint, reverse)) == ["loss_fell"]


@pytest.mark.parametrize("name", ["model_00000.safetensors", "optimizer_00000.safetensors"])
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_tensor_with_a_value_that_is_no_number_is_caught(checkpoint: Artifact, name: str, value: float) -> None:
    assert failures(with_value(checkpoint, name, value)) == ["weights_are_finite"]


def test_a_file_that_holds_no_tensors_is_caught(checkpoint: Artifact) -> None:
    checkpoint.file("model_00000.safetensors").write_bytes(b"\xff" * 100)
    assert failures(seal(checkpoint)) == ["weights_are_finite"]


@pytest.mark.parametrize("key", ["megatron_sha256", "megatron_prefix"])
def test_another_training_bin_is_caught(checkpoint: Artifact, key: str) -> None:
    wrong = with_config(checkpoint, lambda raw: raw["data"].update({key: "0" * 64}))
    assert failures(wrong) == ["train_bin_is_the_megatron_artifacts"]


@pytest.mark.parametrize("key", ["tokenizer_commit", "tokenizer_sha256"])
def test_another_tokenizer_is_caught(checkpoint: Artifact, key: str) -> None:
    wrong = with_config(checkpoint, lambda raw: raw["data"].update({key: "0" * 40}))
    assert failures(wrong) == ["tokenizer_is_the_locked_one"]


@pytest.mark.parametrize("key", ["megatron_manifest_sha256", "tokenizer_manifest_sha256"])
def test_another_manifest_is_caught(checkpoint: Artifact, key: str) -> None:
    wrong = with_config(checkpoint, lambda raw: raw["data"].update({key: "0" * 64}))
    assert failures(wrong) == ["data_manifests_are_the_inputs"]


def test_an_input_that_is_gone_is_caught(checkpoint: Artifact) -> None:
    (checkpoint.root / checkpoint.manifest.inputs[0].path / "_COMPLETE").unlink()
    assert "train_bin_is_the_megatron_artifacts" in failures(checkpoint)


def test_a_chain_that_lags_the_locks_tokenizer_fails(checkpoint: Artifact) -> None:
    assert failures(pin_another_tokenizer(checkpoint)) == ["tokenizer_lineage"]
