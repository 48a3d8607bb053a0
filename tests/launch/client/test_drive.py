"""A job's way through a launcher that does what a script says."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.drive import cancel, drive, release_lost
from megacpp_assets.launch.client.progress import StepRate
from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Report, Unanswered
from megacpp_assets.launch.protocol.job_folder import Ended, JobFolder, Lease
from megacpp_assets.launch.protocol.shared_folder import SharedFolder
from megacpp_assets.training.job import LIVE_METRICS_FILE, TrainingJob
from tests.training.world import tiny_root, tiny_spec

QUICK = LaunchRecipe(attempts=3, silence_seconds=1, look_seconds=0.01)
RUNNING = Report(AttemptState.RUNNING)


@dataclass
class Scripted:
    """Each attempt goes through the reports of its script; an exception in it is raised instead."""

    attempts: list[list[Report | Exception]]
    running: set[str] = field(default_factory=set)
    started: int = 0
    _script: Iterator[Report | Exception] = field(default_factory=lambda: iter(()))

    def plan(self, order: AttemptOrder) -> str:
        return order.name

    def submit(self, order: AttemptOrder) -> None:
        assert not self.running, "one attempt at a time"
        self.started += 1
        self._script = iter(self.attempts[self.started - 1])
        self.running.add(order.name)

    def look(self, name: str) -> Report:
        assert name in self.running
        report = next(self._script, RUNNING)
        if isinstance(report, Exception):
            raise report
        return report

    def release(self, name: str) -> None:
        self.running.discard(name)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> TrainingJob:
    return TrainingJob.of(tiny_spec(tiny_root(tmp_path_factory.mktemp("root"))))


def test_a_job_that_succeeds_is_released(job: TrainingJob, tmp_path: Path) -> None:
    launcher = Scripted([[RUNNING, RUNNING, Report(AttemptState.SUCCEEDED)]])
    drive(launcher, QUICK, job, tmp_path)
    assert launcher.started == 1 and not launcher.running


def test_a_job_whose_machine_is_taken_away_is_started_again(job: TrainingJob, tmp_path: Path) -> None:
    launcher = Scripted(
        [[Report(AttemptState.PREEMPTED)], [Report(AttemptState.PREEMPTED)], [Report(AttemptState.SUCCEEDED)]]
    )
    drive(launcher, QUICK, job, tmp_path)
    assert launcher.started == 3 and not launcher.running


def test_so_often_as_the_recipe_says(job: TrainingJob, tmp_path: Path) -> None:
    launcher = Scripted([[Report(AttemptState.PREEMPTED, "spot capacity")]] * 3)
    with pytest.raises(TrainingFailed, match=r"one of 3 attempts .* found spot capacity; what to do: run it again"):
        drive(launcher, QUICK, job, tmp_path)
    assert not launcher.running


def test_a_job_that_fails_is_not_started_again(job: TrainingJob, tmp_path: Path) -> None:
    launcher = Scripted([[Report(AttemptState.FAILED, "exit code 1")]])
    with pytest.raises(TrainingFailed, match="found exit code 1"):
        drive(launcher, QUICK, job, tmp_path)
    assert launcher.started == 1 and not launcher.running


def test_a_job_without_a_heartbeat_is_cancelled(job: TrainingJob, tmp_path: Path) -> None:
    (tmp_path / LIVE_METRICS_FILE).write_text("one step\n")
    launcher = Scripted([[]])
    with pytest.raises(TrainingFailed, match=r"no heartbeat for 1 s \(launch.silence_seconds\)"):
        drive(launcher, QUICK, job, tmp_path)
    assert not launcher.running


def test_an_api_that_fails_to_answer_for_a_while_is_asked_again(job: TrainingJob, tmp_path: Path) -> None:
    busy = Unanswered("429 Too Many Requests")
    launcher = Scripted([[busy, busy, RUNNING, busy, Report(AttemptState.SUCCEEDED)]])
    drive(launcher, QUICK, job, tmp_path)
    assert launcher.started == 1 and not launcher.running


def test_an_api_that_never_answers_is_named_and_the_job_released(job: TrainingJob, tmp_path: Path) -> None:
    launcher = Scripted([[Unanswered("no route to host")] * 10_000])
    with pytest.raises(
        TrainingFailed, match=r"launcher local; expected an answer within 1 s .* found no route to host"
    ):
        drive(launcher, QUICK, job, tmp_path)
    assert not launcher.running


@pytest.mark.parametrize("silent", ["submit", "look"])
def test_the_lease_of_a_job_is_renewed_while_the_api_is_silent(
    job: TrainingJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    recipe = replace(QUICK, silence_seconds=60, lease_seconds=1, exchange=(tmp_path / "exchange").as_uri())
    folder = JobFolder(SharedFolder(tmp_path / "exchange"), job.name, records.next_attempt(job.folder, job.name))
    beats, pauses, sleep, failed = list[int](), list[float](), time.sleep, Report(AttemptState.FAILED, "it is enough")

    def unanswered_at_first(asked: object) -> Report:
        lease = folder.read_lease()
        assert lease is not None and lease.seconds == 1
        beats.append(lease.beat)
        if len(beats) < 10:
            raise Unanswered("503 Service Unavailable")
        return failed

    launcher = Scripted([])
    for call in ("submit", "look"):
        monkeypatch.setattr(launcher, call, unanswered_at_first if call == silent else lambda asked: failed)
    monkeypatch.setattr(time, "sleep", lambda seconds: (pauses.append(seconds), sleep(0.02)))
    with pytest.raises(TrainingFailed, match="it is enough"):
        drive(launcher, recipe, job, tmp_path)
    assert all(before < after for before, after in pairwise(beats[1:])), "each call finds a newer lease"
    assert max(pauses) < recipe.lease_seconds / 2


@pytest.mark.parametrize(
    ("lease_seconds", "request_seconds", "longest"), [(60, 0, 20), (60, 15, 20), (60, 50, 50), (300, 60, 90)]
)
def test_the_time_of_unanswered_requests_counts_between_two_renewals(
    job: TrainingJob,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lease_seconds: int,
    request_seconds: int,
    longest: int,
) -> None:
    recipe = replace(
        QUICK, silence_seconds=1000, lease_seconds=lease_seconds, exchange=(tmp_path / "exchange").as_uri()
    )
    monotonic, write_lease, passed, renewed = time.monotonic, JobFolder.write_lease, [0.0], list[float]()

    def write(folder: JobFolder, lease: Lease) -> None:
        renewed.append(time.monotonic())
        write_lease(folder, lease)

    def spend(seconds: float) -> None:
        passed[0] += seconds

    def unanswered(name: str) -> Report:
        spend(request_seconds)
        raise Unanswered("503 Service Unavailable")

    launcher = Scripted([[]])
    launcher.look = unanswered  # type: ignore[method-assign]
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + passed[0])
    monkeypatch.setattr(time, "sleep", spend)
    monkeypatch.setattr(JobFolder, "write_lease", write)
    with pytest.raises(TrainingFailed, match="an answer within 1000 s"):
        drive(launcher, recipe, job, tmp_path)
    between = [after - before for before, after in pairwise(renewed)]
    assert len(between) > 5 and max(between) == pytest.approx(longest, abs=2)


def test_the_end_that_a_job_reported_counts_though_the_api_is_silent(job: TrainingJob, tmp_path: Path) -> None:
    recipe = replace(QUICK, silence_seconds=3, exchange=(tmp_path / "exchange").as_uri())
    folder = JobFolder(SharedFolder(tmp_path / "exchange"), job.name, records.next_attempt(job.folder, job.name))
    launcher, asked = Scripted([[]]), list[str]()

    def unanswered(name: str) -> Report:
        asked.append(name)
        if len(asked) == 2:
            folder.write_ended(Ended(0))
        raise Unanswered("503 Service Unavailable")

    launcher.look = unanswered  # type: ignore[method-assign]
    drive(launcher, recipe, job, tmp_path)
    assert len(asked) == 2 and records.read(job.folder, asked[0]).ended == "succeeded"


def test_whatever_interrupts_the_watch_leaves_nothing_running(job: TrainingJob, tmp_path: Path) -> None:
    launcher = Scripted([[]])
    launcher.look = _interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        drive(launcher, QUICK, job, tmp_path)
    assert not launcher.running


def _interrupted(of: object) -> Report:
    raise KeyboardInterrupt


def test_each_attempt_is_on_record_before_it_is_asked_for_and_numbered_on(job: TrainingJob, tmp_path: Path) -> None:
    before = records.next_attempt(job.folder, job.name)
    launcher = Scripted([[Report(AttemptState.SUCCEEDED)]])
    launcher.submit = lambda order: found.append(records.read(job.folder, order.name))  # type: ignore[method-assign]
    found: list[records.AttemptRecord] = []
    launcher.look = lambda name: Report(AttemptState.SUCCEEDED)  # type: ignore[method-assign]
    drive(launcher, QUICK, job, tmp_path)
    assert [each.name for each in found] == [f"{job.name}-{before}"] and not found[0].ended
    assert records.read(job.folder, found[0].name).ended == "succeeded"


def test_what_was_begun_is_released_whatever_becomes_of_its_submission(job: TrainingJob, tmp_path: Path) -> None:
    launcher = Scripted([[]])
    released: list[str] = []
    launcher.submit = _interrupted  # type: ignore[method-assign]
    launcher.release = released.append  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        drive(launcher, QUICK, job, tmp_path)
    assert len(released) == 1 and records.read(job.folder, released[0]).ended


def test_a_malformed_record_and_an_unknown_run_are_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"run '\.\./x'; expected a name that exists; found none at all"):
        records.read(tmp_path, "../x")
    name = f"megacpp-{'a' * 22}-1"
    (tmp_path / ".launches").mkdir()
    (tmp_path / f".launches/{name}.json").write_text("{}")
    with pytest.raises(LineageGap, match=f"expected the record of a launch; .*: if the job {name} still runs, stop it"):
        cancel(tmp_path, name)


def test_a_record_that_cannot_be_read_is_logged_and_hides_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tiny_root(tmp_path / "root")
    lost = AttemptOrder(TrainingJob.of(tiny_spec(root)), 1, root.as_uri())
    records.begin(root, lost, QUICK)
    of_other_code = root / f".launches/megacpp-{'0' * 22}-1.json"
    record = json.loads((root / f".launches/{lost.name}.json").read_bytes())
    of_other_code.write_text(json.dumps(record | {"a field that was removed": 1}))
    unreadable = root / f".launches/megacpp-{'0' * 22}-2.json"
    unreadable.symlink_to("/proc/self/mem")
    assert release_lost(root, {"local": Scripted([])}) == [lost.name]
    assert [each.name for each in records.ended_since(root, 0.0)] == [lost.name]
    for file in (of_other_code, unreadable):
        assert any(f"{file}; expected" in line and "; what to do: " in line for line in caplog.messages)


def test_the_rate_is_that_of_the_steps_that_were_seen_to_be_made(job: TrainingJob, tmp_path: Path) -> None:
    metrics, begun = tmp_path / LIVE_METRICS_FILE, time.time()
    metrics.write_text("of an attempt before\n")
    launcher = Scripted([[]])
    reports = iter([(1, 20.0), (3, 21.0), (5, 24.0)])

    def look(name: str) -> Report:
        step = next(reports, None)
        if step is None:
            return Report(AttemptState.SUCCEEDED)
        metrics.write_text('{"tokens": 8}\n' * step[0])
        os.utime(metrics, (begun, begun + step[1]))
        return RUNNING

    launcher.look = look  # type: ignore[method-assign]
    drive(launcher, QUICK, job, tmp_path)
    rate = records.records(job.folder)[-1].rate
    assert rate is not None and (rate.steps, rate.tokens) == (4, 8)
    assert rate.seconds_per_step == pytest.approx(1.0) and rate.tokens_per_second == pytest.approx(8.0)
    assert rate.start_seconds == pytest.approx(20.0, abs=1.0)


def test_where_too_few_steps_were_seen_there_is_no_rate(job: TrainingJob, tmp_path: Path) -> None:
    drive(Scripted([[Report(AttemptState.SUCCEEDED)]]), QUICK, job, tmp_path)
    assert records.records(job.folder)[-1].rate is None


def test_what_cannot_be_released_now_stops_nobody_and_stays_on_record(tmp_path: Path) -> None:
    root = tiny_root(tmp_path / "root")
    lost = AttemptOrder(TrainingJob.of(tiny_spec(root)), 1, root.as_uri())
    records.begin(root, lost, LaunchRecipe("slurm", exchange="gs://b/x", settings={"no such": "setting"}))
    assert release_lost(root) == [] and not records.read(root, lost.name).ended


@pytest.fixture
def begun(tmp_path: Path) -> AttemptOrder:
    """An attempt that is on record as running, in a root of its own."""
    root = tiny_root(tmp_path / "root")
    order = AttemptOrder(TrainingJob.of(tiny_spec(root)), 1, root.as_uri())
    records.begin(root, order, QUICK)
    return order


def test_an_attempt_that_ends_before_it_is_found_lost_is_not_released_again(
    begun: AttemptOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, rate, launcher = begun.job.folder, StepRate(10, 1.0, 4096.0, 2.0), Scripted([], running={begun.name})
    listed = records.records

    def ended_after_the_list(of: Path) -> list[records.AttemptRecord]:
        found = listed(of)
        records.end(of, begun.name, "succeeded", rate)
        return found

    monkeypatch.setattr(records, "records", ended_after_the_list)
    assert release_lost(root, {"local": launcher}) == [] and launcher.running
    assert records.read(root, begun.name).ended == "succeeded" and records.read(root, begun.name).rate == rate


def test_a_request_to_cancel_does_not_undo_the_end_of_an_attempt(
    begun: AttemptOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, write, about_to_write, ended = begun.job.folder, records.write, threading.Event(), threading.Event()

    def late(of: Path, record: records.AttemptRecord) -> None:
        if threading.current_thread() is cancelling:
            about_to_write.set()
            ended.wait(0.5)
        write(of, record)

    monkeypatch.setattr(records, "write", late)
    cancelling = threading.Thread(target=records.cancel, args=(root, begun.name))
    cancelling.start()
    about_to_write.wait()
    records.end(root, begun.name, "succeeded")
    ended.set()
    cancelling.join()
    assert records.read(root, begun.name).ended == "succeeded"
    assert cancel(root, begun.name) == "succeeded"


def test_what_takes_a_while_to_delete_is_waited_for_where_there_is_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = TrainingJob.of(tiny_spec(tiny_root(tmp_path / "root")))
    lost = AttemptOrder(job, 1, job.folder.as_uri())
    records.begin(job.folder, lost, QUICK)
    deleting, launcher = iter(range(4)), Scripted([])

    def release(name: str) -> None:
        if next(deleting, None) is not None:
            raise Unanswered(f"{name}: still being deleted")

    launcher.release = release  # type: ignore[method-assign]
    monkeypatch.setattr("megacpp_assets.launch.client.drive.open_launcher", lambda recipe: launcher)
    assert release_lost(job.folder) == [] and not records.read(job.folder, lost.name).ended
    assert release_lost(job.folder, patience=QUICK) == [lost.name] and records.read(job.folder, lost.name).ended
