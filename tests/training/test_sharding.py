"""A model in parts on several processes (FSDP2): the same training as with a whole one on each, on any number."""

from __future__ import annotations

import errno
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import distributed

from megacpp_assets.contract.errors import SpecError, TrainingFailed
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.training.checkpoints import checkpoint as saving
from megacpp_assets.training.checkpoints.checkpoint import restore
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.checkpoints.resume import newest_checkpoint
from megacpp_assets.training.loop import train
from megacpp_assets.training.network.model import GPT
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.optimizer import optimizer_for
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.sharding import local
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.training.forked import STOPPED, fork_ranks, train_forked
from tests.training.killing import killing
from tests.training.test_loop import run
from tests.training.world import VOCABULARY, tensors_of, tiny_recipe, tiny_root, tiny_spec

SHAPE: dict[str, Any] = {"layers": 2, "batch_rows": 4, "steps": 8, "save_every": 8, "platform_embedding": True}
FSDP: dict[str, Any] = SHAPE | {"processes": 2, "parallel": "fsdp", "accumulate": 2}


def finished(spec: TrainedCheckpointSpec) -> Artifact:
    return open_artifact(spec.root, checkpoint_target(spec, spec.recipe.steps).path).verify()


def losses(spec: TrainedCheckpointSpec) -> list[float]:
    return [metrics.loss for metrics in read_metrics(finished(spec))]


@pytest.fixture(scope="module")
def replicated(tmp_path_factory: pytest.TempPathFactory) -> TrainedCheckpointSpec:
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("ddp")), processes=2, **SHAPE)
    assert train_forked(spec) == [0, 0]
    return spec


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> TrainedCheckpointSpec:
    """Trained with batches in two parts, whose gradients are summed over the processes once."""
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("fsdp")), **FSDP)
    assert train_forked(spec) == [0, 0]
    return spec


def test_a_sharded_model_has_the_losses_of_a_replicated_one(
    replicated: TrainedCheckpointSpec, sharded: TrainedCheckpointSpec
) -> None:
    assert losses(sharded) == pytest.approx(losses(replicated), rel=1e-4)
    ours, theirs = (tensors_of(finished(spec)) for spec in (sharded, replicated))
    assert {name: tensor.shape for name, tensor in ours.items()} == {name: each.shape for name, each in theirs.items()}
    for name, tensor in ours.items():
        assert torch.allclose(tensor, theirs[name], atol=1e-3), name
    measured = [finished(spec).manifest.stats["validation_bits_per_byte"] for spec in (sharded, replicated)]
    assert measured[0] == pytest.approx(measured[1], rel=1e-3)


def test_an_elastic_run_resumes_on_one_process_and_then_on_four(
    replicated: TrainedCheckpointSpec, tmp_path: Path
) -> None:
    root = tiny_root(tmp_path)
    two, one, four = (tiny_spec(root, processes=count, parallel="fsdp", elastic=True, **SHAPE) for count in (2, 1, 4))
    assert train_forked(two, stop_after=3) == [STOPPED, STOPPED]
    assert not run(one, stop_after=5)
    assert train_forked(four) == [0] * 4
    assert losses(four) == pytest.approx(losses(replicated), rel=1e-4)
    resumed = finished(four).manifest.stats["resumed"]
    assert [(each["step"], each["processes"]) for each in resumed] == [(3, 2), (5, 1)]


def test_a_stopped_sharded_run_ends_with_the_bytes_of_an_uninterrupted_one(
    sharded: TrainedCheckpointSpec, tmp_path: Path
) -> None:
    stopped = tiny_spec(tiny_root(tmp_path), **FSDP)
    assert train_forked(stopped, stop_after=5) == [STOPPED, STOPPED]
    assert train_forked(stopped) == [0, 0]
    assert finished(stopped).manifest.files == finished(sharded).manifest.files


def test_a_run_of_other_processes_is_not_resumed_unless_the_recipe_is_elastic(tmp_path: Path) -> None:
    root = tiny_root(tmp_path)
    one, two = (tiny_spec(root, processes=count, **SHAPE) for count in (1, 2))
    assert not run(one, stop_after=3)
    assert newest_checkpoint(one)[0] is not None
    assert newest_checkpoint(two) == (None, [])
    assert newest_checkpoint(tiny_spec(root, processes=2, elastic=True, learning_rate=1.0, **SHAPE)) == (None, [])


def test_each_process_writes_its_part_and_reads_it_back_alone(sharded: TrainedCheckpointSpec, tmp_path: Path) -> None:
    made = finished(sharded)
    names = ["model_00000.safetensors", "model_00001.safetensors", "optimizer_00000.safetensors"]
    assert [entry.name for entry in made.manifest.files if entry.name in names] == names

    def body(ranks: Ranks, folder: Path) -> int:
        del folder
        model = GPT(model_config(sharded.recipe, VOCABULARY))
        ranks.share(model, model.blocks)
        opened: list[str] = []
        found = Artifact.file
        Artifact.file = lambda self, name: (opened.append(name), found(self, name))[1]  # type: ignore[method-assign]
        restore(made, model, optimizer_for(sharded.recipe, dict(model.named_parameters())))
        (tmp_path / str(ranks.rank)).write_text(" ".join(sorted(name for name in opened if "0000" in name)))
        return 0

    assert fork_ranks(sharded.recipe, body) == [0, 0]
    for rank in (0, 1):
        expected = f"model_0000{rank}.safetensors optimizer_0000{rank}.safetensors"
        assert (tmp_path / str(rank)).read_text() == expected


@pytest.mark.parametrize(
    ("rank", "point"),
    [
        pytest.param(1, 1, id="first file", marks=pytest.mark.campaign),
        pytest.param(1, 4, id="last file"),
        pytest.param(0, 9, id="manifest", marks=pytest.mark.campaign),
    ],
)
def test_a_kill_during_a_save_loses_only_the_steps_since_the_previous_checkpoint(
    sharded: TrainedCheckpointSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: int, point: int
) -> None:
    spec = tiny_spec(tiny_root(tmp_path), **FSDP)
    assert train_forked(spec, stop_after=5) == [STOPPED, STOPPED]
    with monkeypatch.context() as patch:
        killing(patch, "step_00000008", point, lambda: distributed.get_rank() == rank)
        assert train_forked(spec)[rank] == -signal.SIGKILL
    found, damaged = newest_checkpoint(spec)
    assert found is not None and (found.manifest.stats["steps"], damaged) == (5, [])
    assert train_forked(spec) == [0, 0]
    assert finished(spec).manifest.files == finished(sharded).manifest.files


def test_a_process_that_cannot_write_its_shard_ends_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(tensors: dict[str, torch.Tensor], path: Path, metadata: dict[str, str]) -> None:
        if distributed.get_rank() == 1:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save_file(tensors, path, metadata)

    monkeypatch.setattr(saving, "save_tensors", full)
    spec = tiny_spec(tiny_root(tmp_path / "root"), **FSDP)

    def body(ranks: Ranks, folder: Path) -> int:
        with pytest.raises((OSError, TrainingFailed)) as raised:
            train(spec, ranks, StopRequest(), live_metrics=folder / "live.jsonl")
        (tmp_path / str(ranks.rank)).write_text(str(raised.value))
        return 0

    assert fork_ranks(spec.recipe, body) == [0, 0]
    assert (tmp_path / "0").read_text().startswith("shard 2 of 2; expected written; found OSError")
    assert "No space left on device" in (tmp_path / "1").read_text()
    assert newest_checkpoint(spec) == (None, []) and not (spec.root / checkpoint_target(spec, 8).path).exists()


def test_a_node_without_a_shared_disk_sends_its_shards_to_the_first(
    sharded: TrainedCheckpointSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEGACPP_ADDRESS", "127.0.0.1")
    nodes = [tiny_spec(tiny_root(tmp_path / str(number)), **FSDP) for number in (0, 1)]

    def body(ranks: Ranks, folder: Path) -> int:
        return int(not train(nodes[ranks.rank], ranks, StopRequest(), live_metrics=folder / f"{ranks.rank}.jsonl"))

    assert fork_ranks(sharded.recipe, body, nodes=2) == [0, 0]
    assert finished(nodes[0]).manifest.files == finished(sharded).manifest.files
    assert not [path for path in (nodes[1].root / "checkpoints").rglob("*") if path.is_file()]


def test_each_process_holds_its_part_of_a_sharded_model() -> None:
    recipe = tiny_recipe(processes=2, parallel="fsdp")

    def body(ranks: Ranks, folder: Path) -> int:
        del folder
        model = GPT(model_config(recipe, 100))
        everything = sum(parameter.numel() for parameter in model.parameters())
        ranks.share(model, model.blocks)
        moments = optimizer_for(recipe, dict(model.named_parameters())).state()
        held = sum(local(tensor).numel() for tensor in moments.values())
        assert held <= 1.1 * everything, "two moments of half the numbers"
        return 0

    assert fork_ranks(recipe, body) == [0, 0]


@pytest.mark.parametrize("changes", [{"optimizer": "muon"}, {"compiled": True}], ids=["muon", "compiled"])
def test_sharding_is_rejected_with_options_that_need_whole_matrices(changes: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=r"training.parallel; expected ddp where"):
        tiny_recipe(parallel="fsdp", **changes)
