"""A job that has nothing in common with the launching side but an exchange: a process, its own root, its own folder."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil
import pytest

from megacpp_assets.contract.errors import LineageGap, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.channel import open_channel
from megacpp_assets.launch.client.drive import drive, release_lost
from megacpp_assets.launch.job.run_attempt import main
from megacpp_assets.launch.launcher import Unanswered
from megacpp_assets.launch.protocol.artifact_transfer import send_artifact
from megacpp_assets.launch.protocol.job_folder import Ended, JobFolder, Lease, SealedCheckpoint
from megacpp_assets.launch.protocol.shared_folder import SharedFolder
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.trained.stage import run
from megacpp_assets.training.job import FAILURE_FILE, LIVE_METRICS_FILE, TrainingJob
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.emulator import emulator, lead_clients_to, url_of
from tests.launch.processes import Processes
from tests.launch.quick import Body, quick_python
from tests.training.waiting import alive, wait_for
from tests.training.world import tiny_root, tiny_spec, tree_hashes

STEPS: dict[str, Any] = {"steps": 100, "save_every": 20}
LONG: dict[str, Any] = {"steps": 240, "save_every": 40}
"""Of a real training that is to be ended before it is done."""
ENDLESS: dict[str, Any] = {"steps": 20_000, "save_every": 10}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The checkpoints of a training in place."""
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("in_place")), **LONG)
    run(spec)
    return tree_hashes(spec.root, "checkpoints")


def recipe_at(exchange: str, **changes: Any) -> LaunchRecipe:
    values: dict[str, Any] = {"silence_seconds": 60, "look_seconds": 0.05, "lease_seconds": 60, "exchange": exchange}
    return LaunchRecipe(**(values | changes))


def train(spec: TrainedCheckpointSpec, launcher: Processes, recipe: LaunchRecipe) -> None:
    run(spec, launch=partial(drive, launcher, recipe))


def quick(folder: Path, body: Body | None = None, **changes: Any) -> Processes:
    """Machines whose body trains nothing."""
    return Processes(folder, python=quick_python(folder / "python", body), **changes)


@pytest.mark.campaign
def test_what_it_trains_is_what_a_training_in_place_gives_though_its_machine_was_taken_away(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), **LONG)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    launcher = Processes(tmp_path, signal_once(post, signal.SIGKILL))
    train(spec, launcher, recipe_at(post.exchange.uri))
    assert tree_hashes(spec.root, "checkpoints") == undisturbed
    assert not launcher.left and [each.ended for each in records.records(spec.root)] == [
        "preempted: exit code -9",
        "succeeded",
    ]


def test_its_metrics_come_while_it_trains(tmp_path: Path) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root"), **STEPS), quick(tmp_path)
    seen: list[int] = []
    recipe = recipe_at((tmp_path / "exchange").as_uri())
    run(spec, lambda done, total: seen.append(done), partial(drive, launcher, recipe))
    assert any(0 < done < 100 for done in seen) and seen[-1] == 100


def test_through_a_bucket_as_well(tmp_path: Path, bucket: str) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root"), **STEPS), quick(tmp_path)
    train(spec, launcher, recipe_at(f"{bucket}/corpora", look_seconds=0.2))
    assert open_artifact(spec.root, checkpoint_target(spec, 100).path).verify()
    assert not launcher.left


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of the emulator, on loopback."""
    with emulator("exchange") as server:
        lead_clients_to(url_of(server), monkeypatch)
        yield "gs://exchange"


def signal_once(post: JobFolder, number: int) -> Callable[[subprocess.Popen[bytes], int], None]:
    """Send the first attempt a signal once its first checkpoint is in the exchange."""
    sent = []

    def fault(machine: subprocess.Popen[bytes], attempt: int) -> None:
        if not sent and post.read_sealed():
            machine.send_signal(number)
            sent.append(number)

    return fault


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["at once", "with notice"])
def test_a_machine_taken_away_costs_the_steps_since_the_last_checkpoint(tmp_path: Path, number: int) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), **STEPS)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    launcher = quick(tmp_path, Body(waits_after=50, log=str(tmp_path / "steps")), fault=signal_once(post, number))
    train(spec, launcher, recipe_at(post.exchange.uri))
    assert launcher.attempts == 2 and not launcher.left
    steps = {name: [int(line.split()[1]) for line in lines] for name, lines in by_attempt(tmp_path / "steps")}
    first, second = (steps[f"{post.name}-{attempt}"] for attempt in (1, 2))
    saved = {each.step for each in post.read_sealed()}
    assert second[0] - 1 in saved and not [step for step in saved if second[0] <= step <= first[-1] - 20]
    if number == signal.SIGTERM:
        assert second[0] == first[-1] + 1, "with notice, none is trained twice"


def by_attempt(log: Path) -> Iterator[tuple[str, list[str]]]:
    """(attempt, its lines) of the steps that bodies trained, in order."""
    for name, lines in groupby(log.read_text().splitlines(), key=lambda line: line.split()[0]):
        yield name, list(lines)


def test_a_job_on_a_silent_machine_is_cancelled_and_another_command_continues(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), **STEPS)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    launcher = quick(tmp_path, Body(waits_after=50), fault=signal_once(post, signal.SIGSTOP), grace_seconds=0.1)
    with pytest.raises(
        TrainingFailed, match=r"no heartbeat for 5 s \(launch.silence_seconds\) after 'step \d+ of 100'"
    ):
        train(spec, launcher, recipe_at(post.exchange.uri, silence_seconds=5))
    assert not launcher.left
    train(spec, launcher, recipe_at(post.exchange.uri))
    assert open_artifact(spec.root, checkpoint_target(spec, 100).path).verify()


def test_an_api_that_is_away_for_a_while_costs_nothing(tmp_path: Path) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root"), **STEPS), quick(tmp_path, unanswered=5)
    train(spec, launcher, recipe_at((tmp_path / "exchange").as_uri()))
    assert launcher.attempts == 1


def test_the_reason_of_a_failure_comes_from_the_job_itself(tmp_path: Path) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root")), quick(tmp_path, Body(fails_after=3))
    with pytest.raises(TrainingFailed, match=r"^loss of step; expected a finite number; found nan$"):
        train(spec, launcher, recipe_at((tmp_path / "exchange").as_uri()))
    assert launcher.attempts == 1 and not launcher.left


def test_a_job_that_says_done_without_its_checkpoint_has_failed(tmp_path: Path) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root")), quick(tmp_path, Body(exits_without=True))
    with pytest.raises(
        TrainingFailed, match=r"training of base/4k; expected checkpoints/\S+/step_00000012; found none"
    ):
        train(spec, launcher, recipe_at((tmp_path / "exchange").as_uri()))
    assert not launcher.left


def test_a_cancelled_run_saves_ends_and_leaves_nothing(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), **ENDLESS)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)

    def cancel(machine: subprocess.Popen[bytes], attempt: int) -> None:
        if post.read_sealed():
            records.cancel(spec.root, f"{post.name}-1")

    launcher = quick(tmp_path, fault=cancel)
    with pytest.raises(TrainingFailed, match="found a request to cancel it"):
        train(spec, launcher, recipe_at(post.exchange.uri))
    assert not launcher.left
    last = post.read_sealed()[-1]
    assert open_artifact(spec.root, checkpoint_target(spec, last.step).path).verify().manifest.sha256 == last.sha256


def test_a_job_whose_launcher_was_killed_ends_with_its_lease_and_its_record_is_closed(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), **ENDLESS)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    code = (
        "import sys; from pathlib import Path; from functools import partial;"
        "from tests.launch.job.test_run_attempt import *; folder = Path(sys.argv[1]);"
        "spec = tiny_spec(folder / 'root', **ENDLESS);"
        "train(spec, quick(folder, Body(waits_after=15)), recipe_at((folder / 'exchange').as_uri(), lease_seconds=2))"
    )
    launcher = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    wait_for(lambda: post.read_sealed() or launcher.poll())
    machine = psutil.Process(launcher.pid).children()
    launcher.kill()
    launcher.wait()
    wait_for(lambda: not any(alive(process.pid) for process in machine))
    ended = post.read_ended()
    assert ended is not None and ended.code == 75 and ended.reason == "its lease is over"
    assert [each.ended for each in records.records(spec.root)] == [""]
    assert release_lost(spec.root, {"local": Processes(tmp_path)}) == [f"{post.name}-1"]
    assert [bool(each.ended) for each in records.records(spec.root)] == [True]


def test_an_input_that_changed_on_its_way_is_rejected(tmp_path: Path) -> None:
    spec, launcher = tiny_spec(tiny_root(tmp_path / "root")), quick(tmp_path)
    tokenizer = open_artifact(spec.root, f"tokenizer/{spec.dataset}")
    entry = tokenizer.manifest.file("tokenizer.json")
    (tmp_path / "exchange/objects").mkdir(parents=True)
    (tmp_path / "exchange/objects" / entry.sha256).write_bytes(b"x" * entry.bytes)
    with pytest.raises(TrainingFailed, match=f"expected sha256 {entry.sha256}; found sha256 "):
        train(spec, launcher, recipe_at((tmp_path / "exchange").as_uri()))
    assert not launcher.left


def test_a_checkpoint_of_another_job_is_rejected(tmp_path: Path) -> None:
    spec, other = (tiny_spec(tiny_root(tmp_path / name), seed=seed) for name, seed in (("root", 1), ("other", 2)))
    train(other, quick(tmp_path / "other"), recipe_at((tmp_path / "elsewhere").as_uri()))
    foreign = open_artifact(other.root, checkpoint_target(other, 12).path)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    send_artifact(post.exchange, foreign)
    post.write_sealed([SealedCheckpoint(12, foreign.manifest.sha256)])
    launcher = quick(tmp_path)
    with pytest.raises(LineageGap, match=f"checkpoint of step 12; expected one of the job {post.name}"):
        train(spec, launcher, recipe_at(post.exchange.uri))
    assert launcher.attempts == 0 and not (spec.root / "checkpoints").exists()


def test_two_launches_of_one_job_from_two_places_are_one_launch_and_an_error(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), **ENDLESS)
    first = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    # The second launch waits for three looks of the first one. A look of 0.05 s takes longer on a busy machine.
    recipe = recipe_at(first.exchange.uri, look_seconds=1)
    messages: list[str] = []

    def launch() -> None:
        try:
            train(spec, quick(tmp_path), recipe)
        except TrainingFailed as error:
            messages.append(str(error))

    launching = threading.Thread(target=launch)
    launching.start()
    wait_for(lambda: first.read_sealed() or not launching.is_alive())
    with pytest.raises(SpecError, match=r"expected one launching machine; found another one, .* of attempt 1"):
        open_channel(recipe, TrainingJob.of(spec), tmp_path).next_free_attempt(1)
    records.cancel(spec.root, f"{first.name}-1")
    launching.join()
    assert "request to cancel" in messages[0]
    assert open_channel(recipe, TrainingJob.of(spec), tmp_path).next_free_attempt(1) == 2, (
        "the next one is another attempt"
    )


def test_an_attempt_that_nobody_wants_any_more_does_not_begin(tmp_path: Path) -> None:
    uri = f"{(tmp_path / 'exchange').as_uri()}/jobs/megacpp-{'0' * 22}"
    assert main([uri, "--attempt", "1", "--folder", str(tmp_path / "machine")]) == 75
    assert not (tmp_path / "machine").exists()


def leased(folder: Path) -> JobFolder:
    """The folder of an attempt that may run, though nobody has sent its job."""
    job_folder = JobFolder(SharedFolder(folder / "exchange"), f"megacpp-{'0' * 22}", 1)
    job_folder.write_lease(Lease(1, 60, 1.0))
    return job_folder


def silence(monkeypatch: pytest.MonkeyPatch, call: str, file: str) -> None:
    """Let the exchange give no answer to each `call` (read or write) for the file."""
    answered = getattr(SharedFolder, call)

    def unanswered(self: SharedFolder, name: str, *rest: Any) -> Any:
        if name.endswith(file):
            raise Unanswered("503 Service Unavailable")
        return answered(self, name, *rest)

    monkeypatch.setattr(SharedFolder, call, unanswered)


def test_an_attempt_goes_on_without_an_answer_to_its_heartbeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job_folder = leased(tmp_path)
    silence(monkeypatch, "write", "heartbeat.json")
    assert main([job_folder.uri, "--attempt", "1", "--folder", str(tmp_path / "machine")]) == 1
    assert "expected a job; found none" in job_folder.read_failure() and job_folder.read_ended() == Ended(1)


@pytest.mark.parametrize("end", ["is reported", "cannot be reported"])
def test_an_attempt_whose_exchange_stays_silent_may_be_resumed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    job_folder = leased(tmp_path)
    monkeypatch.setattr("megacpp_assets.launch.job.run_attempt._PATIENCE_SECONDS", 0)
    silence(monkeypatch, "read", "job.json")
    if end == "cannot be reported":
        silence(monkeypatch, "write", "ended.json")
    assert main([job_folder.uri, "--attempt", "1", "--folder", str(tmp_path / "machine")]) == 75
    found = str(job_folder.read_ended()) if end == "is reported" else caplog.text
    assert "its exchange gave no answer for 0 s: 503 Service Unavailable" in found


@pytest.mark.parametrize("silent", [(LIVE_METRICS_FILE,), (LIVE_METRICS_FILE, FAILURE_FILE)], ids=["results", "both"])
@pytest.mark.parametrize(("code", "ends"), [(1, 1), (0, 75), (75, 75)])
def test_a_failed_training_stays_failed_though_its_results_cannot_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, ends: int, silent: tuple[str, ...]
) -> None:
    job = TrainingJob.of(tiny_spec(tiny_root(tmp_path / "root")))
    open_channel(recipe_at((tmp_path / "exchange").as_uri()), job, tmp_path).open(1)
    job_folder = JobFolder(SharedFolder(tmp_path / "exchange"), job.name, 1)
    body = f"open({LIVE_METRICS_FILE!r}, 'w').write('a step\\n'); open({FAILURE_FILE!r}, 'w').write('loss is nan')"
    line = f"import os, sys; os.chdir(sys.argv[1]); {body}; sys.exit({code})"
    monkeypatch.setattr(
        "megacpp_assets.training.processes.training_processes.command",
        lambda job, directory, node: [sys.executable, "-c", line, str(directory)],
    )
    monkeypatch.setattr("megacpp_assets.launch.job.run_attempt._PATIENCE_SECONDS", 0)
    for file in silent:
        silence(monkeypatch, "write", file)
    assert main([job_folder.uri, "--attempt", "1", "--folder", str(tmp_path / "machine")]) == ends
    ended = job_folder.read_ended()
    assert ended is not None and ended.code == ends
    assert job_folder.read_failure() == ("loss is nan" if ends == 1 and FAILURE_FILE not in silent else "")


def test_a_second_request_to_stop_does_not_change_how_a_process_ends() -> None:
    code = """
import os, signal, sys
from megacpp_assets.training.processes.process import StopRequest, leave

class Late:
    # What `sys` holds goes when Python's own handlers of signals have gone.
    def __del__(self, kill=os.kill, pid=os.getpid(), number=int(signal.SIGTERM)):
        kill(pid, number)

StopRequest().install()
sys.late = Late()
"""
    codes = [
        subprocess.run([sys.executable, "-c", code + end], check=False).returncode
        for end in ("sys.exit(75)", "leave(75)")
    ]
    assert codes == [-signal.SIGTERM, 75]
