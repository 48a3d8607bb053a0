"""A run, whole and interrupted, in this process: what is published, and that nothing depends on interruptions."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.errors import CheckFailed, LineageGap, SpecError
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.training.checkpoints import checkpoint as saving
from megacpp_assets.training.checkpoints.checkpoint import restore
from megacpp_assets.training.checkpoints.record import StepMetrics, read_config, read_metrics
from megacpp_assets.training.checkpoints.resume import newest_checkpoint
from megacpp_assets.training.loop import train
from megacpp_assets.training.network.model import GPT, ModelConfig
from megacpp_assets.training.network.structure import StructureConfig
from megacpp_assets.training.optimizer import AdamW
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target, input_paths
from tests.forks import forked
from tests.loader.rows_artifact import PREFIX
from tests.training.killing import killing
from tests.training.world import COMMIT, tensors_of, tiny_root, tiny_spec, tree_hashes

ALONE = Ranks(0, 1, torch.device("cpu"))


class Killed(Exception):
    """Stands for the end of the process."""


def run(
    spec: TrainedCheckpointSpec,
    die_after: int | None = None,
    stop_after: int | None = None,
    each: Callable[[int], None] = lambda step: None,
) -> bool:
    """Train; `die_after` ends everything once that step is done, `stop_after` asks it to stop then; `each` hears it."""
    stop = StopRequest()

    def report(metrics: StepMetrics) -> None:
        each(metrics.step)
        if metrics.step == die_after:
            raise Killed
        stop.asked = stop.asked or metrics.step == stop_after

    return train(spec, ALONE, stop, live_metrics=spec.root / "live.jsonl", report=report)


def checkpoint(spec: TrainedCheckpointSpec, step: int) -> Artifact:
    return open_artifact(spec.root, checkpoint_target(spec, step).path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> TrainedCheckpointSpec:
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("a_rather_longer_name")))
    assert run(spec)
    return spec


@pytest.fixture
def spec(tmp_path: Path) -> TrainedCheckpointSpec:
    return tiny_spec(tiny_root(tmp_path))


def test_a_run_publishes_each_saved_step(undisturbed: TrainedCheckpointSpec) -> None:
    paths = sorted(path.name for path in (undisturbed.root / "checkpoints/tiny_v1/base/4k").iterdir())
    assert paths == ["step_00000004", "step_00000008", "step_00000012"]
    for step in (4, 8, 12):
        made = checkpoint(undisturbed, step).verify()
        assert made.manifest.stats["steps"] == step == read_config(made).step
        assert [metrics.step for metrics in read_metrics(made)] == list(range(1, step + 1))


def test_a_checkpoint_records_the_identity_of_its_data(undisturbed: TrainedCheckpointSpec) -> None:
    made = checkpoint(undisturbed, 12)
    megatron, tokenizer = (open_artifact(undisturbed.root, path) for path in input_paths(undisturbed))
    data = read_config(made).data
    train_bin = sha256_file(megatron.file(f"{PREFIX}.bin"))
    assert (data.tokenizer_commit, data.megatron_sha256) == (COMMIT, train_bin)
    assert data.megatron_prefix == f"{megatron.path}/{PREFIX}"
    assert data.megatron_manifest_sha256 == megatron.manifest.sha256
    assert data.tokenizer_manifest_sha256 == tokenizer.manifest.sha256
    assert made.manifest.config["megatron_sha256"] == train_bin
    assert made.manifest.config["tokenizer_commit"] == COMMIT


def test_a_run_killed_after_a_save_ends_with_the_same_bytes(
    undisturbed: TrainedCheckpointSpec, spec: TrainedCheckpointSpec
) -> None:
    for die_after in (3, 7, 8, 11):
        with pytest.raises(Killed):
            run(spec, die_after=die_after)
    assert run(spec)
    assert tree_hashes(spec.root, "checkpoints") == tree_hashes(undisturbed.root, "checkpoints")


def test_a_stopped_run_saves_its_step_and_ends_with_the_same_bytes(
    undisturbed: TrainedCheckpointSpec, spec: TrainedCheckpointSpec
) -> None:
    assert not run(spec, stop_after=6)
    found, _ = newest_checkpoint(spec)
    assert found is not None and found.manifest.stats["steps"] == 6
    assert not run(spec, stop_after=7)
    assert run(spec)
    assert tree_hashes(spec.root, "checkpoints") == tree_hashes(undisturbed.root, "checkpoints")


def test_the_next_steps_do_not_wait_for_a_checkpoint_that_is_being_written(
    undisturbed: TrainedCheckpointSpec, spec: TrainedCheckpointSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone_on = threading.Event()

    def slow(tensors: dict[str, torch.Tensor], path: Path, metadata: dict[str, str]) -> None:
        if metadata["step"] == "4":
            assert gone_on.wait(180), "step 6 waits for the checkpoint of step 4"
        save_file(tensors, path, metadata)

    monkeypatch.setattr(saving, "save_tensors", slow)
    assert run(spec, each=lambda step: gone_on.set() if step == 6 else None)
    assert tree_hashes(spec.root, "checkpoints") == tree_hashes(undisturbed.root, "checkpoints")


def test_a_run_killed_during_a_save_resumes_from_the_previous_checkpoint(
    undisturbed: TrainedCheckpointSpec, spec: TrainedCheckpointSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed_run() -> None:
        killing(monkeypatch, "step_00000008", len(ends) + 1)
        run(spec)

    ends: list[int] = []
    while ends[-1:] != [8]:
        child = forked(killed_run)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        found, damaged = newest_checkpoint(spec)
        assert found is not None and damaged == []
        ends.append(found.manifest.stats["steps"])
    assert ends == [4] * (len(ends) - 1) + [8] and len(ends) >= 14, "two points for each file, the seal the last"
    assert run(spec)
    assert tree_hashes(spec.root, "checkpoints") == tree_hashes(undisturbed.root, "checkpoints")


def test_a_checkpoint_that_cannot_be_written_ends_the_run(
    spec: TrainedCheckpointSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(tensors: dict[str, torch.Tensor], path: Path, metadata: dict[str, str]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    seen: list[int] = []
    monkeypatch.setattr(saving, "save_tensors", full)
    with pytest.raises(OSError, match="No space left on device"):
        run(spec, each=seen.append)
    assert seen[-1] < 12 and newest_checkpoint(spec) == (None, [])


def test_a_save_reads_no_input_again(spec: TrainedCheckpointSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    examine = Artifact.problems
    monkeypatch.setattr(Artifact, "problems", lambda self: (read.append(self.path), examine(self))[1])
    assert run(spec)
    assert read == list(input_paths(spec)), "each input is verified once, before the first step"


def test_gradient_accumulation_trains_as_the_whole_batch_does(
    undisturbed: TrainedCheckpointSpec, tmp_path: Path
) -> None:
    parts = tiny_spec(tiny_root(tmp_path), accumulate=2)
    assert run(parts)
    whole, found = (read_metrics(checkpoint(spec, 12)) for spec in (undisturbed, parts))
    assert [metrics.tokens for metrics in found] == [metrics.tokens for metrics in whole]
    assert [metrics.loss for metrics in found] == pytest.approx([metrics.loss for metrics in whole], rel=1e-4)


def test_a_checkpoint_records_its_bits_per_byte_on_the_held_out_files(undisturbed: TrainedCheckpointSpec) -> None:
    found = [checkpoint(undisturbed, step).manifest.stats["validation_bits_per_byte"] for step in (4, 12)]
    assert found[1] < found[0], "it learned something that holds elsewhere"


@pytest.mark.parametrize(
    "changes",
    [
        {"kv_heads": 1},
        {"softcap": 5.0},
        {"dtype": "bfloat16"},
        {"rope_base": 500.0},
        {"schedule": "wsd"},
        {"optimizer": "muon"},
        {"ngram_heads": 2, "ngram_table": 500},
        {"state_space_every": 1, "optimizer": "muon"},
        {"relation_bias": True, "tree_steps": 2},
        {"platform_embedding": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_each_form_of_the_model_and_the_run_resumes_to_the_same_bytes(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    whole, killed = (tiny_spec(tiny_root(tmp_path / name), **changes) for name in ("whole", "killed"))
    assert run(whole)
    with pytest.raises(Killed):
        run(killed, die_after=6)
    assert run(killed)
    assert tree_hashes(killed.root, "checkpoints") == tree_hashes(whole.root, "checkpoints")


def test_a_stop_request_at_the_last_step_has_no_effect(spec: TrainedCheckpointSpec) -> None:
    assert run(spec, stop_after=12)


@pytest.mark.parametrize(
    "name", ["model_00000.safetensors", "optimizer_00000.safetensors", "shards.json", "metrics.jsonl", "config.json"]
)
def test_a_damaged_newest_checkpoint_is_skipped_and_replaced(
    undisturbed: TrainedCheckpointSpec, spec: TrainedCheckpointSpec, name: str
) -> None:
    with pytest.raises(Killed):
        run(spec, die_after=9)
    flip(checkpoint(spec, 8).file(name))
    found, _ = newest_checkpoint(spec)
    assert found is not None and found.manifest.stats["steps"] == 4
    assert run(spec)
    assert tree_hashes(spec.root, "checkpoints") == tree_hashes(undisturbed.root, "checkpoints")


def flip(file: Path) -> None:
    """Change one bit in the middle."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_a_checkpoint_without_its_seal_is_skipped(spec: TrainedCheckpointSpec) -> None:
    with pytest.raises(Killed):
        run(spec, die_after=9)
    (checkpoint(spec, 8).directory / "_COMPLETE").unlink()
    found, _ = newest_checkpoint(spec)
    assert found is not None and found.manifest.stats["steps"] == 4


def test_a_checkpoint_of_another_recipe_is_not_resumed(spec: TrainedCheckpointSpec) -> None:
    with pytest.raises(Killed):
        run(spec, die_after=9)
    assert newest_checkpoint(tiny_spec(spec.root, learning_rate=2e-2)) == (None, [])
    assert newest_checkpoint(tiny_spec(spec.root, steps=20)) == (None, [])
    assert newest_checkpoint(spec)[0] is not None


def test_the_seed_decides_the_weights(undisturbed: TrainedCheckpointSpec, spec: TrainedCheckpointSpec) -> None:
    assert run(tiny_spec(spec.root, seed=99))
    ours, theirs = (tensors_of(checkpoint(s, 12)) for s in (undisturbed, tiny_spec(spec.root, seed=99)))
    assert not torch.equal(ours["embedding"], theirs["embedding"])


def test_training_moves_every_part_of_the_structure_embedding(spec: TrainedCheckpointSpec) -> None:
    spec = tiny_spec(spec.root, structure_components="all")
    assert run(spec)
    early, late = (tensors_of(checkpoint(spec, step)) for step in (4, 12))
    for name in ("structure.table", "structure.scale", "structure.up"):
        assert not torch.equal(early[name], late[name])


def test_an_unknown_structure_component_is_rejected(spec: TrainedCheckpointSpec) -> None:
    with pytest.raises(SpecError, match="structure_components"):
        run(tiny_spec(spec.root, structure_components="core,colour"))


def test_a_changed_input_is_an_error_before_the_first_step(spec: TrainedCheckpointSpec) -> None:
    megatron = open_artifact(spec.root, input_paths(spec)[0])
    flip(megatron.file(f"{PREFIX}.dep_levels.bin"))
    with pytest.raises(LineageGap, match="dep_levels"):
        run(spec)
    assert not (spec.root / "live.jsonl").exists()


def test_a_loss_that_does_not_fall_leaves_no_final_checkpoint(spec: TrainedCheckpointSpec) -> None:
    still = tiny_spec(spec.root, learning_rate=1.0)
    with pytest.raises(CheckFailed, match="mean loss below"):
        run(still)
    assert not (spec.root / checkpoint_target(still, 12).path).exists()


def test_a_loss_that_is_not_a_number_ends_the_run(spec: TrainedCheckpointSpec) -> None:
    with pytest.raises(CheckFailed, match="finite"):
        run(tiny_spec(spec.root, learning_rate=1e30, gradient_clip=1e30))


def test_tensors_of_another_model_are_rejected(undisturbed: TrainedCheckpointSpec) -> None:
    other = GPT(ModelConfig(100, 2, 16, 2, StructureConfig(bottleneck_dim=8)))
    with pytest.raises(LineageGap, match="the tensors of this model"):
        restore(checkpoint(undisturbed, 12), other, AdamW(dict(other.named_parameters()), 0.1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 3},
        {"save_every": 0},
        {"device": "rocm"},
        {"processes": 2, "batch_rows": 3},
        {"threads": 0},
        {"hidden": 30},
    ],
)
def test_an_impossible_recipe_is_rejected(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(SpecError, match=f"training.{'batch_rows' if len(wrong) > 1 else next(iter(wrong))}"):
        tiny_spec(tmp_path, **wrong)


def test_a_training_that_compiles_nothing_loads_no_compiler(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from tests.training.test_loop import run
from tests.training.killing import killing
from tests.training.world import tiny_root, tiny_spec

assert run(tiny_spec(tiny_root(Path(sys.argv[1])), ngram_heads=1, state_space_every=2, layers=2, steps=4, save_every=4))
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 0
