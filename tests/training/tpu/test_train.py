"""A run whose device is `tpu` trains, is stopped, goes on and ends with checkpoints as any other's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest.importorskip("jax", reason="pip install -r tests/training/tpu/requirements.txt")

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.loop import train
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from megacpp_assets.training.tpu import PLATFORM_VARIABLE
from tests.training.world import tiny_root, tiny_spec, tree_hashes


def trained(spec: TrainedCheckpointSpec, stop_after: int | None = None) -> bool:
    stop = StopRequest()

    def heard(metrics: object) -> None:
        if getattr(metrics, "step", None) == stop_after:
            stop.asked = True

    ranks = Ranks(0, 1, torch.device("cpu"))
    return train(spec, ranks, stop, live_metrics=spec.root / "live.jsonl", report=heard)


def test_its_losses_are_those_of_a_cpu(tmp_path: Path) -> None:
    losses = []
    for device in ("tpu", "cpu"):
        spec = tiny_spec(tiny_root(tmp_path / device), device=device)
        assert trained(spec)
        checkpoint = open_artifact(spec.root, checkpoint_target(spec, 12).path)
        assert checkpoint.manifest.stats["validation_bits_per_byte"] > 0
        losses.append([metrics.loss for metrics in read_metrics(checkpoint)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_a_run_that_was_stopped_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole, cut = (tiny_spec(tiny_root(tmp_path / name), device="tpu") for name in ("whole", "cut"))
    assert trained(whole)
    assert not trained(cut, stop_after=6)
    assert trained(cut)
    assert tree_hashes(cut.root, "checkpoints") == tree_hashes(whole.root, "checkpoints")


def test_a_machine_without_tpus_is_rejected_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLATFORM_VARIABLE)
    with pytest.raises(
        EnvironmentLacks, match=r"training.device tpu; expected TPUs that JAX finds; .*set training.dev"
    ):
        trained(tiny_spec(tiny_root(tmp_path), device="tpu"))


@pytest.mark.parametrize("changes", [{"optimizer": "muon"}, {"attention": "dense"}])
def test_what_has_no_form_for_tpus_is_rejected_by_its_key(changes: dict[str, object]) -> None:
    with pytest.raises(SpecError, match=rf"training.{next(iter(changes))}; .*where training.device is tpu"):
        TrainingRecipe(device="tpu", **changes)  # type: ignore[arg-type]
