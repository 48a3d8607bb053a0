"""Training as a job of Slurm, on a cluster of this machine."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.drive import drive
from megacpp_assets.launch.launcher import AttemptOrder, Unanswered
from megacpp_assets.launch.launchers.slurm import Settings, Slurm
from megacpp_assets.launch.protocol.job_folder import JobFolder
from megacpp_assets.launch.protocol.shared_folder import SharedFolder
from megacpp_assets.launch.registry import open_launcher
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.trained.stage import run
from megacpp_assets.training.job import TrainingJob
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.launch.launchers.cluster import fake_cluster, real_cluster
from tests.launch.launchers.fake_slurm import preempt
from tests.launch.launchers.login_node import NAME, login_node
from tests.launch.quick import quick_python
from tests.training.waiting import wait_for
from tests.training.world import tiny_root, tiny_spec

KINDS = {"fake": fake_cluster, "real": real_cluster}


@pytest.fixture(params=sorted(KINDS))
def cluster(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with KINDS[request.param](tmp_path, monkeypatch):
        yield request.param


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with fake_cluster(tmp_path, monkeypatch):
        yield tmp_path


def recipe_in(folder: Path, **changes: Any) -> LaunchRecipe:
    settings = {"python": quick_python(folder / "python"), "scratch": str(folder / "scratch")}
    values = {"silence_seconds": 120, "look_seconds": 0.2, "exchange": (folder / "exchange").as_uri()} | changes
    return LaunchRecipe("slurm", settings=settings, **values)


def train(spec: TrainedCheckpointSpec, recipe: LaunchRecipe) -> None:
    run(spec, launch=partial(drive, open_launcher(recipe), recipe))


def left(name: str) -> list[str]:
    """Jobs of the queue, and processes of this machine, that belong to the job of that name."""
    command = ["squeue", "--noheader", "--format=%i", f"--name={name}"]
    queued = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    return queued.stdout.split() + [line for line in lines if name in line and "launch.remote" in line]


def test_a_job_of_the_cluster_brings_its_checkpoint_and_leaves_nothing(cluster: str, tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"))
    train(spec, recipe_in(tmp_path))
    assert open_artifact(spec.root, checkpoint_target(spec, 12).path).verify()
    name = f"{TrainingJob.of(spec).name}-1"
    assert not left(name) and not (tmp_path / "scratch" / name).exists()


def test_a_cancelled_job_saves_and_leaves_the_queue(cluster: str, tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), steps=20_000, save_every=10)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    name = f"{post.name}-1"
    seen: list[BaseException] = []

    def wanted() -> None:
        try:
            train(spec, recipe_in(tmp_path))
        except TrainingFailed as error:
            seen.append(error)

    launching = threading.Thread(target=wanted)
    launching.start()
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    records.cancel(spec.root, name)
    launching.join()
    assert "a request to cancel it" in str(seen[0])
    assert not left(name) and post.read_sealed()


def test_a_job_is_released_when_its_processes_have_ended(fake: Path) -> None:
    python, begun, gate = fake / "python", fake / "begun", fake / "gate"
    python.write_text(f"#!/bin/sh\ntrap '' TERM\ntouch {begun}\nwhile [ ! -e {gate} ]; do sleep 0.05; done\n")
    python.chmod(0o755)
    launcher = Slurm(Settings(python=str(python), scratch=str(fake / "scratch")))
    order = AttemptOrder(TrainingJob.of(tiny_spec(tiny_root(fake / "root"))), 1, "file:///nowhere")
    launcher.submit(order)
    wait_for(begun.exists)
    with pytest.raises(Unanswered, match=rf"job {order.name}: its processes are still ending"):
        launcher.release(order.name)
    gate.touch()
    wait_for(lambda: not left(order.name))
    launcher.release(order.name)


def test_a_job_of_two_nodes_has_a_task_on_each_and_leaves_nothing(fake: Path) -> None:
    spec = tiny_spec(tiny_root(fake / "root"), processes=2)
    train(spec, recipe_in(fake, nodes=2))
    assert open_artifact(spec.root, checkpoint_target(spec, 12).path).verify()
    name = f"{TrainingJob.of(spec).name}-1"
    assert not left(name) and not (fake / "scratch" / name).exists()
    (file,) = fake.glob("jobs/*/tasks")
    *begun, first, second = file.read_text().splitlines()
    assert [line[0] for line in begun] == ["0", "1"] and "--nodes 2 --number-from SLURM_NODEID" in begun[1]
    assert " rm -rf " in first and " rm -rf " in second


def test_no_secret_of_this_machine_reaches_the_batch_script_the_job_or_what_is_kept(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY_OF_SOME_API", "canary-1234")
    spec = tiny_spec(tiny_root(fake / "root"))
    recipe = recipe_in(fake)
    python = Path(str(recipe.settings["python"]))
    python.write_text(python.read_text().replace("exec", f"env > {fake}/environment; exec"))
    train(spec, recipe)
    assert "PATH=" in (fake / "environment").read_text()
    kept = {file: file.read_bytes() for file in fake.rglob("*") if file.is_file()}
    assert any(b"#SBATCH --export=" in data for data in kept.values())
    assert not [file for file, data in kept.items() if b"canary" in data]


def test_a_preempted_job_resumes_in_another(fake: Path) -> None:
    spec = tiny_spec(tiny_root(fake / "root"), steps=100, save_every=20)
    post = JobFolder(SharedFolder(fake / "exchange"), TrainingJob.of(spec).name, 1)
    launching = threading.Thread(target=train, args=(spec, recipe_in(fake)))
    launching.start()
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    preempt(fake, f"{post.name}-1")
    launching.join()
    assert [(each.attempt, each.ended) for each in records.records(spec.root)] == [
        (1, "preempted: PREEMPTED"),
        (2, "succeeded"),
    ]
    assert post.read_sealed()[-1].step == 100 and not left(post.name)


def test_a_controller_that_is_away_is_asked_again_and_a_refusal_is_not(fake: Path) -> None:
    launcher = Slurm(Settings())
    (fake / "away").touch()
    with pytest.raises(Unanswered, match="Unable to contact slurm controller"):
        launcher.look("megacpp-x-1")
    (fake / "away").unlink()
    (fake / "commands/sbatch").write_text(
        "#!/bin/sh\necho 'sbatch: error: invalid partition specified: gpu' >&2; exit 1\n"
    )
    spec = tiny_spec(tiny_root(fake / "root"))
    with pytest.raises(TrainingFailed, match="sbatch; expected exit code 0; found 1: sbatch: error: invalid partition"):
        train(spec, recipe_in(fake))
    assert not left(TrainingJob.of(spec).name)


def test_a_cluster_behind_a_login_node_is_asked_over_ssh_and_a_node_that_is_away_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.environ["PATH"]
    with fake_cluster(tmp_path, monkeypatch):
        there = os.environ["PATH"]
    monkeypatch.setenv("PATH", here)
    spec = tiny_spec(tiny_root(tmp_path / "root"))
    recipe = recipe_in(tmp_path)
    recipe = replace(recipe, settings={**recipe.settings, "ssh": NAME, "options": "'--comment=night run; all'"})
    with login_node(tmp_path / "node", monkeypatch, there):
        train(spec, recipe)
    assert open_artifact(spec.root, checkpoint_target(spec, 12).path).verify()
    assert not list((tmp_path / "scratch").iterdir())
    scripts = [file.read_text() for file in tmp_path.glob("jobs/*/script")]
    assert scripts and all("#SBATCH '--comment=night run; all'\n" in script for script in scripts)
    with pytest.raises(Unanswered, match=r"squeue: .*Connection refused"):
        Slurm(Settings(ssh=NAME)).look("megacpp-x-1")


def test_where_there_is_no_slurm_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentLacks, match=r"the command squeue; .* set launch.settings.ssh to a login node"):
        Slurm(Settings()).look("megacpp-x-1")


def test_the_plan_asks_for_what_the_recipe_trains_on_and_holds_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY_OF_SOME_API", "canary-1234")
    spec = tiny_spec(tiny_root(tmp_path), device="cuda", processes=8, batch_rows=8)
    order = AttemptOrder(TrainingJob.of(spec), 3, "gs://bucket/jobs/x")
    plan = Slurm(Settings(partition="gpu", memory_gib=64, options="--qos=spot --constraint=h200")).plan(order)
    for line in (f"job-name={order.name}", "gpus-per-node=8", "partition=gpu", "mem=64G", "qos=spot", "export=NIL"):
        assert f"#SBATCH --{line}\n" in plan
    assert "gs://bucket/jobs/x --attempt 3" in plan and "canary" not in plan


def test_a_partition_or_account_of_two_words_is_rejected() -> None:
    for name in ("partition", "account"):
        with pytest.raises(SpecError, match=rf"launch.settings.{name}; expected one word"):
            open_launcher(LaunchRecipe("slurm", exchange="gs://bucket/x", settings={name: "gpu --wrap=true"}))


def test_an_option_with_spaces_stays_one_option(tmp_path: Path) -> None:
    order = AttemptOrder(TrainingJob.of(tiny_spec(tiny_root(tmp_path))), 1, "gs://bucket/jobs/x")
    plan = Slurm(Settings(options="'--comment=night run; all' --qos=spot")).plan(order)
    assert "#SBATCH '--comment=night run; all'\n#SBATCH --qos=spot\n" in plan
