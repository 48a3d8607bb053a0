"""A job that has nothing in common with the launching side but an exchange: a process, its own root, its own folder."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from gcp_storage_emulator.server import create_server

from megacpp_assets.contract.errors import LineageGap, TrainingFailed
from megacpp_assets.contract.recipe import LaunchRecipe
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.training.job import Job
from megacpp_assets.training.launch import records
from megacpp_assets.training.launch.drive import drive, release_lost
from megacpp_assets.training.launch.exchange import Folder
from megacpp_assets.training.launch.parcel import send_artifact
from megacpp_assets.training.launch.post import Post, Sealed
from megacpp_assets.training.launch.remote import main
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from megacpp_assets.training.stage import run
from tests.training.launch.processes import Processes
from tests.training.test_stage import alive, wait_for
from tests.training.world import tiny_root, tiny_spec, tree_hashes

STEPS: dict[str, Any] = {"steps": 400, "save_every": 50}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The checkpoints of a training in place."""
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("in_place")), **STEPS)
    run(spec)
    return tree_hashes(spec.root, "checkpoints")


def recipe_at(exchange: str, **changes: Any) -> LaunchRecipe:
    values: dict[str, Any] = {"silence_seconds": 60, "look_seconds": 0.05, "lease_seconds": 60, "exchange": exchange}
    return LaunchRecipe(**(values | changes))


def train(spec: TrainedCheckpointSpec, launcher: Processes, recipe: LaunchRecipe) -> None:
    run(spec, launch=partial(drive, launcher, recipe))


def test_what_it_trains_is_what_a_training_in_place_gives(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root"), **STEPS), Processes(tmp_path)
    seen: list[int] = []
    recipe = recipe_at((tmp_path / "exchange").as_uri())
    run(spec, lambda done, total: seen.append(done), partial(drive, launcher, recipe))
    assert tree_hashes(spec.root, "checkpoints") == undisturbed
    assert not launcher.left and [each.ended for each in records.records(spec.root)] == ["succeeded"]
    assert any(0 < done < 400 for done in seen), "its metrics come while it trains"


def test_through_a_bucket_as_well(tmp_path: Path, undisturbed: dict[str, str], bucket: str) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root"), **STEPS), Processes(tmp_path)
    train(spec, launcher, recipe_at(f"{bucket}/corpora"))
    assert tree_hashes(spec.root, "checkpoints") == undisturbed
    assert not launcher.left


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of the emulator, on loopback."""
    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="exchange")
    server.start()
    port = server._api._httpd.server_address[1]
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "none")
    yield "gs://exchange"
    server.stop()


def kill_once(post: Post, number: int) -> Callable[[subprocess.Popen[bytes], int], None]:
    """Send the first attempt a signal once its first checkpoint is in the exchange."""
    sent = []

    def fault(machine: subprocess.Popen[bytes], attempt: int) -> None:
        if not sent and post.sealed():
            machine.send_signal(number)
            sent.append(number)

    return fault


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["at once", "with notice"])
def test_a_machine_taken_away_costs_the_steps_since_the_last_checkpoint(
    tmp_path: Path, undisturbed: dict[str, str], number: int
) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), **STEPS)
    post = Post(Folder(tmp_path / "exchange"), Job.of(spec).name, 1)
    launcher = Processes(tmp_path, kill_once(post, number))
    train(spec, launcher, recipe_at(post.exchange.uri))
    assert launcher.attempts == 2 and not launcher.left
    assert tree_hashes(spec.root, "checkpoints") == undisturbed
    resumed = Path(tmp_path, f"{Job.of(spec).name}-2/root/checkpoints/tiny_v1/base/4k")
    assert not (resumed / "step_00000050").exists() or len(list(resumed.iterdir())) < 9, "it did not start over"


def test_a_machine_that_no_longer_answers_is_given_up_and_another_command_goes_on(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), **STEPS)
    post = Post(Folder(tmp_path / "exchange"), Job.of(spec).name, 1)
    launcher = Processes(tmp_path, kill_once(post, signal.SIGSTOP), grace_seconds=0.1)
    with pytest.raises(
        TrainingFailed, match=r"no sign of life for 15 s \(launch.silence_seconds\) after 'step \d+ of 400'"
    ):
        train(spec, launcher, recipe_at(post.exchange.uri, silence_seconds=15))
    assert not launcher.left
    train(spec, launcher, recipe_at(post.exchange.uri))
    assert tree_hashes(spec.root, "checkpoints") == undisturbed


def test_an_api_that_is_away_for_a_while_costs_nothing(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root"), **STEPS), Processes(tmp_path, unanswered=5)
    train(spec, launcher, recipe_at((tmp_path / "exchange").as_uri()))
    assert launcher.attempts == 1 and tree_hashes(spec.root, "checkpoints") == undisturbed


def test_the_reason_of_a_failure_comes_from_the_job_itself(tmp_path: Path) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root"), learning_rate=-1e-2), Processes(tmp_path)
    with pytest.raises(TrainingFailed, match="expected a mean loss below"):
        train(spec, launcher, recipe_at((tmp_path / "exchange").as_uri()))
    assert launcher.attempts == 1 and not launcher.left


def test_a_cancelled_run_saves_ends_and_leaves_nothing(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), steps=20_000, save_every=10)
    post = Post(Folder(tmp_path / "exchange"), Job.of(spec).name, 1)

    def cancel(machine: subprocess.Popen[bytes], attempt: int) -> None:
        if post.sealed():
            records.cancel(spec.root, f"{post.name}-1")

    launcher = Processes(tmp_path, cancel)
    with pytest.raises(TrainingFailed, match="found a request to cancel it"):
        train(spec, launcher, recipe_at(post.exchange.uri))
    assert not launcher.left
    last = post.sealed()[-1]
    assert open_artifact(spec.root, checkpoint_target(spec, last.step).path).verify().manifest.sha256 == last.sha256


def test_a_job_whose_launcher_was_killed_ends_with_its_lease_and_its_record_is_closed(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), steps=20_000, save_every=10)
    post = Post(Folder(tmp_path / "exchange"), Job.of(spec).name, 1)
    code = (
        "import sys; from pathlib import Path; from functools import partial;"
        "from tests.training.launch.test_remote import *; folder = Path(sys.argv[1]);"
        "spec = tiny_spec(folder / 'root', steps=20_000, save_every=10);"
        "train(spec, Processes(folder), recipe_at((folder / 'exchange').as_uri(), lease_seconds=2))"
    )
    launcher = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    wait_for(lambda: post.sealed() or launcher.poll())
    machine = psutil.Process(launcher.pid).children()
    launcher.kill()
    launcher.wait()
    wait_for(lambda: not any(alive(process.pid) for process in machine))
    ended = post.ended()
    assert ended is not None and ended.code == 75 and ended.reason == "its lease is over"
    assert [each.ended for each in records.records(spec.root)] == [""]
    assert release_lost(spec.root, {"local": Processes(tmp_path)}) == [f"{post.name}-1"]
    assert [bool(each.ended) for each in records.records(spec.root)] == [True]


def test_an_input_that_changed_on_its_way_is_refused(tmp_path: Path) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root")), Processes(tmp_path)
    tokenizer = open_artifact(spec.root, f"tokenizer/{spec.dataset}")
    entry = tokenizer.manifest.file("tokenizer.json")
    (tmp_path / "exchange/objects").mkdir(parents=True)
    (tmp_path / "exchange/objects" / entry.sha256).write_bytes(b"x" * entry.bytes)
    with pytest.raises(TrainingFailed, match=f"expected sha256 {entry.sha256}; found sha256 "):
        train(spec, launcher, recipe_at((tmp_path / "exchange").as_uri()))
    assert not launcher.left


def test_a_checkpoint_of_another_job_is_refused(tmp_path: Path) -> None:
    spec, other = (tiny_spec(tiny_root(tmp_path / name), seed=seed) for name, seed in (("root", 1), ("other", 2)))
    run(other)
    foreign = open_artifact(other.root, checkpoint_target(other, 12).path)
    post = Post(Folder(tmp_path / "exchange"), Job.of(spec).name, 1)
    send_artifact(post.exchange, foreign)
    post.put_sealed([Sealed(12, foreign.manifest.sha256)])
    launcher = Processes(tmp_path)
    with pytest.raises(LineageGap, match=f"checkpoint of step 12; expected one of the job {post.name}"):
        train(spec, launcher, recipe_at(post.exchange.uri))
    assert launcher.attempts == 0 and not (spec.root / "checkpoints").exists()


def test_an_attempt_that_nobody_wants_any_more_does_not_begin(tmp_path: Path) -> None:
    uri = f"{(tmp_path / 'exchange').as_uri()}/jobs/megacpp-{'0' * 22}"
    assert main([uri, "--attempt", "1", "--folder", str(tmp_path / "machine")]) == 75
    assert not (tmp_path / "machine").exists()
