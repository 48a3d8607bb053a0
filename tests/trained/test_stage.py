"""The stage with real processes: kills, stops, several ranks."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import torch

from megacpp_assets.contract.errors import LineageGap, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client.drive import drive
from megacpp_assets.launch.launchers import local
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.trained.stage import TrainedCheckpointSpec, run, target
from megacpp_assets.training import loop
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.job import TrainingJob
from megacpp_assets.training.loop import train
from megacpp_assets.training.processes import training_processes
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.processes.training_processes import command
from megacpp_assets.training.spec import checkpoint_target
from tests.training.test_loop import run as train_here
from tests.training.waiting import alive, wait_for
from tests.training.world import tiny_root, tiny_spec, tree_hashes


def started(job: TrainingJob, directory: Path) -> subprocess.Popen[bytes]:
    """The process of the training, as the stage starts it."""
    quiet, popen = subprocess.DEVNULL, vars(training_processes)["subprocess"].Popen
    process: subprocess.Popen[bytes] = popen(command(job, directory), stdin=quiet, stdout=quiet)
    return process


def refuse(job: TrainingJob, directory: Path) -> None:
    raise AssertionError("nothing should be launched")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedCheckpointSpec:
    """A root trained undisturbed."""
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("undisturbed")), steps=160, save_every=20)
    seen: list[tuple[int, int]] = []
    run(spec, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (160, 160) and seen == sorted(seen)
    return spec


def test_a_process_trains_to_a_checkpoint_whose_loss_fell(trained: TrainedCheckpointSpec) -> None:
    losses = [metrics.loss for metrics in read_metrics(open_artifact(trained.root, target(trained).path).verify())]
    assert len(losses) == 160 and sum(losses[-40:]) < sum(losses[:40])


def test_an_existing_checkpoint_is_not_trained_again(trained: TrainedCheckpointSpec) -> None:
    before = tree_hashes(trained.root, "checkpoints")
    assert run(trained, launch=refuse).path == target(trained).path
    assert tree_hashes(trained.root, "checkpoints") == before


def test_leftovers_of_a_run_killed_after_its_last_step_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tiny_spec(tiny_root(tmp_path))
    assert not train_here(spec, stop_after=6)
    with monkeypatch.context() as patch:
        patch.setattr(loop, "remove", lambda artifacts: None)
        assert train_here(spec)
    left = spec.root / checkpoint_target(spec, 6).path
    assert left.is_dir()
    run(spec, launch=refuse)
    assert not left.exists()


def test_nothing_but_the_data_is_left_behind(trained: TrainedCheckpointSpec) -> None:
    scratch = trained.root / ".training"
    assert not list(scratch.iterdir())
    (scratch / "checkpoints__tiny_v1__base__4k").mkdir()  # a launcher killed between its last two acts
    run(trained, launch=refuse)
    assert not list(scratch.iterdir())


def test_a_training_process_killed_after_a_save_resumes_to_the_same_bytes(
    trained: TrainedCheckpointSpec, tmp_path: Path
) -> None:
    spec = tiny_spec(tiny_root(tmp_path), steps=160, save_every=20)

    def kill_soon(job: TrainingJob, directory: Path) -> None:
        process = started(job, directory)
        seal = spec.root / checkpoint_target(spec, 20).path / "_COMPLETE"
        wait_for(lambda: process.poll() is not None or seal.is_file())
        process.kill()
        process.wait()

    with pytest.raises(TrainingFailed, match="run it again"):
        run(spec, launch=kill_soon)
    assert not (spec.root / target(spec).path / "_COMPLETE").exists()
    run(spec)
    assert tree_hashes(spec.root, "checkpoints") == tree_hashes(trained.root, "checkpoints")


@pytest.mark.parametrize(("processes", "members_expected"), [pytest.param(1, 1, marks=pytest.mark.campaign), (2, 3)])
def test_no_process_outlives_a_killed_launcher(tmp_path: Path, processes: int, members_expected: int) -> None:
    spec = tiny_spec(tiny_root(tmp_path), steps=20_000, save_every=20_000)
    code = (
        "import sys; from pathlib import Path; from megacpp_assets.trained.stage import run;"
        "from tests.training.world import tiny_spec;"
        f"run(tiny_spec(Path(sys.argv[1]), steps=20_000, save_every=20_000, processes={processes}))"
    )
    launcher = subprocess.Popen([sys.executable, "-c", code, str(spec.root)], start_new_session=True)
    try:
        metrics = next(iter(wait_for(lambda: list((spec.root / ".training").glob("*/metrics.jsonl")))))
        members = descendants(launcher.pid)
        assert len(members) == members_expected, "each training process, and one over several"
    finally:
        launcher.kill()
        launcher.wait()
    wait_for(lambda: not any(alive(pid) for pid in members))
    assert metrics.is_file()


def descendants(pid: int) -> list[int]:

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


@pytest.mark.parametrize(
    ("number", "processes"), [(signal.SIGTERM, 1), pytest.param(signal.SIGINT, 2, marks=pytest.mark.campaign)]
)
def test_a_request_to_stop_saves_first_and_exits_with_its_own_code(
    tmp_path: Path, number: signal.Signals, processes: int
) -> None:
    spec = tiny_spec(tiny_root(tmp_path), steps=20_000, save_every=20_000, processes=processes)
    codes = []

    def stop_soon(job: TrainingJob, directory: Path) -> None:
        process = started(job, directory)
        live = directory / "metrics.jsonl"
        wait_for(lambda: process.poll() is not None or (live.is_file() and live.stat().st_size))
        process.send_signal(number)
        codes.append(process.wait())
        raise TrainingFailed("as the launchers do where a code is not 0")

    with pytest.raises(TrainingFailed, match="a request to stop; the step that it reached is saved; what to do: run"):
        run(spec, launch=stop_soon)
    assert codes == [75]
    saved = [path for path in (spec.root / "checkpoints/tiny_v1/base/4k").iterdir() if (path / "_COMPLETE").is_file()]
    assert len(saved) == 1


def test_the_reason_of_a_failure_reaches_the_caller(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path), learning_rate=1.0)
    with pytest.raises(TrainingFailed, match="expected a mean loss below"):
        run(spec)
    assert (spec.root / ".training").is_dir()


def test_a_process_that_dies_silently_is_reported_with_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tiny_spec(tiny_root(tmp_path))
    broken = [sys.executable, "-c", "raise SystemError('no memory left')"]
    monkeypatch.setattr(training_processes, "command", lambda job, directory, node: broken)
    with pytest.raises(TrainingFailed, match="no memory left"):
        run(spec)


def test_an_unexpected_error_reaches_the_caller_as_one_sentence(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path))

    def in_a_full_folder(job: TrainingJob, directory: Path) -> None:
        (directory / "metrics.jsonl").mkdir()
        drive(local.Local(), LaunchRecipe(), job, directory)

    with pytest.raises(TrainingFailed, match=r"found IsADirectoryError: .*; what to do: read the whole error") as error:
        run(spec, launch=in_a_full_folder)
    assert "\n" not in str(error.value)


@pytest.mark.campaign
def test_the_caller_gets_the_error_of_the_process_that_failed_first(tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match="expected a mean loss below"):
        run(tiny_spec(tiny_root(tmp_path), learning_rate=1.0, processes=2))


def test_if_one_of_two_processes_is_killed_both_end_and_it_is_named(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path), steps=20_000, save_every=20_000, processes=2)

    def kill_the_second(job: TrainingJob, directory: Path) -> None:
        group = started(job, directory)
        live = directory / "metrics.jsonl"
        wait_for(lambda: group.poll() is not None or (live.is_file() and live.stat().st_size))
        first, second = psutil.Process(group.pid).children()
        second.kill()
        assert group.wait() == 128 + signal.SIGKILL
        assert not alive(first.pid)
        raise TrainingFailed("as the launchers do where a code is not 0")

    with pytest.raises(TrainingFailed, match=r"training process 2 of 2; .* SIGKILL; what to do: run it again"):
        run(spec, launch=kill_the_second)


def test_a_missing_input_is_an_error_before_anything_is_launched(tmp_path: Path) -> None:
    with pytest.raises(LineageGap, match="megatron/tiny_v1/base/4k"):
        run(tiny_spec(tmp_path), launch=refuse)


@pytest.mark.campaign
def test_two_processes_train_the_same_global_batch(tmp_path: Path) -> None:
    one = tiny_spec(tiny_root(tmp_path / "one"))
    two = tiny_spec(tiny_root(tmp_path / "two"), processes=2)
    alone = Ranks(0, 1, torch.device("cpu"))
    assert train(one, alone, StopRequest(), live_metrics=tmp_path / "live.jsonl")
    run(two)
    losses = [
        [metrics.loss for metrics in read_metrics(open_artifact(spec.root, target(spec).path))] for spec in (one, two)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.parametrize("module", ["training.trainer", "trained.stage", "quality.trained"])
def test_torch_is_not_loaded_with_the_definitions_nor_before_its_settings(module: str) -> None:
    code = f"import sys, megacpp_assets.{module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
