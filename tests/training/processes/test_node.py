"""Processes on several nodes: how they find each other, and that they train as those of one node do."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.registry import open_launcher
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.processes.node import MEETING_FILE, NodeRank, meeting, own_address
from megacpp_assets.training.processes.ranks import Ranks, join_ranks
from megacpp_assets.training.spec import checkpoint_target
from tests.listening import listening_sockets
from tests.training.forked import fork_ranks, train_forked
from tests.training.test_loop import run
from tests.training.world import tiny_recipe, tiny_root, tiny_spec


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job's own network is this machine's loopback."""
    monkeypatch.setenv("MEGACPP_ADDRESS", "127.0.0.1")


def test_two_nodes_train_the_same_global_batches_as_one(tmp_path: Path) -> None:
    one, two = tiny_spec(tiny_root(tmp_path / "one")), tiny_spec(tiny_root(tmp_path / "two"), processes=2)
    assert run(one)
    with listening_sockets() as seen:
        assert train_forked(two, nodes=2) == [0, 0]
    losses = [
        [metrics.loss for metrics in read_metrics(open_artifact(spec.root, checkpoint_target(spec, 12).path))]
        for spec in (one, two)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert seen.addresses and not seen.beyond_loopback, "the store listens on the address of the job's network alone"


def test_the_first_process_of_each_node_verifies_its_inputs() -> None:
    def body(ranks: Ranks, folder: Path) -> int:
        (folder / f"{ranks.rank}.{ranks.first_here}").touch()
        ranks.barrier()
        return 0 if {file.name for file in folder.glob("?.*")} == {"0.True", "1.False", "2.True", "3.False"} else 1

    assert fork_ranks(tiny_recipe(processes=4, batch_rows=4), body, nodes=2) == [0] * 4


def test_a_node_reads_its_number_from_its_scheduler() -> None:
    node = NodeRank.of_scheduler(3, "JOB_COMPLETION_INDEX", {"JOB_COMPLETION_INDEX": "2"})
    assert node == NodeRank(2, 3) == NodeRank.parse(node.arguments()[1]) and not node.first
    assert list(node.ranks(6)) == [4, 5]


@pytest.mark.parametrize("found", [{}, {"SLURM_NODEID": "2"}, {"SLURM_NODEID": "-1"}, {"SLURM_NODEID": "first"}])
def test_an_invalid_node_number_is_rejected(found: dict[str, str]) -> None:
    with pytest.raises(SpecError, match="variable SLURM_NODEID; expected the number of a node, 0 to 1; found"):
        NodeRank.of_scheduler(2, "SLURM_NODEID", found)


def test_an_address_of_another_node_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_address() == ("127.0.0.1", "lo")
    monkeypatch.setenv("MEGACPP_ADDRESS", "192.0.2.7")
    with pytest.raises(EnvironmentLacks, match=r"'192.0.2.7'; expected an address of an interface of this node"):
        own_address()


def test_a_first_process_that_does_not_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match=r"first process of the training; expected its address within 0\.1 s"):
        meeting(tmp_path, patience=0.1)
    (tmp_path / MEETING_FILE).write_text("10.0.0.7:4321")
    assert meeting(tmp_path) == ("10.0.0.7", 4321)


def test_a_recipe_with_too_few_cuda_devices_is_rejected(tmp_path: Path) -> None:
    there = torch.cuda.device_count()
    recipe = tiny_recipe(device="cuda", processes=there + 1, batch_rows=there + 1)
    with (
        pytest.raises(EnvironmentLacks, match=rf"this machine; expected {there + 1} CUDA devices .*; found"),
        join_ranks(there, recipe, tmp_path),
    ):
        pass


@pytest.mark.parametrize("launcher", ["local", "cloud_tpu"])
def test_a_launcher_for_one_machine_rejects_several_nodes(launcher: str) -> None:
    with pytest.raises(SpecError, match=rf"launch.nodes of the launcher {launcher}; expected 1; found 2"):
        open_launcher(LaunchRecipe(launcher, exchange="" if launcher == "local" else "gs://bucket/x", nodes=2))
