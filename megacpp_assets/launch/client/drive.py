"""Drives a job from its first attempt to its end, on any launcher: it retries, starts further attempts and releases."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from megacpp_assets.contract.errors import MegacppError, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.channel import JobChannel, end_lease, open_channel
from megacpp_assets.launch.client.progress import AttemptProgress
from megacpp_assets.launch.client.records import AttemptRecord
from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Launcher, Report, Unanswered
from megacpp_assets.launch.registry import open_launcher
from megacpp_assets.training.job import LIVE_METRICS_FILE, TrainingJob

_LOG = logging.getLogger(__name__)

Launch = Callable[[TrainingJob, Path], None]
"""Runs a job to its end. The folder holds the job file, and the launcher may write its logs there.

It may raise any error if the job fails. The job has succeeded if its final checkpoint exists.
"""

_LONGEST_PAUSE: Final = 30.0
_ASKED_PER_LEASE: Final = 3
"""How often a silent API is asked within `launch.lease_seconds`. Each time the lease is renewed too.

A request that takes longer than this part of the lease is repeated at once. The lease is not renewed while a request
waits, so `launch.lease_seconds` must be longer than the longest request.
"""
_CANCEL_PAUSE: Final = 0.1
_INTERRUPTED: Final = Report(AttemptState.RUNNING, "interrupted")
_T = TypeVar("_T")


def drive(launcher: Launcher, recipe: LaunchRecipe, job: TrainingJob, directory: Path) -> None:
    """Run `job` to its end and return when it has succeeded.

    A job whose machine is taken away starts again, in at most `recipe.attempts` attempts. However the function ends,
    nothing of the job is left running. Attempts that a killed process left running are released first.

    Raises:
        TrainingFailed: the job failed, or sent no heartbeat for `recipe.silence_seconds`.
    """
    release_lost(job.folder, {recipe.launcher: launcher})
    channel, progress = open_channel(recipe, job, directory), AttemptProgress(directory / LIVE_METRICS_FILE)
    for _ in range(recipe.attempts):
        number = records.next_attempt(job.folder, job.name)
        free = _retry(lambda known=number: channel.next_free_attempt(known), recipe)  # type: ignore[misc]
        order = AttemptOrder(job, free, channel.place, recipe.nodes)
        progress.begin()
        with _attempt(launcher, recipe, order, channel, progress) as attempt:
            report = attempt.report = _wait_for_end(attempt.look, recipe, progress)
        if report.state is AttemptState.SUCCEEDED:
            return
        if report.state is AttemptState.FAILED:
            raise TrainingFailed(f"job {job.name}", expected="exit code 0", found=report.reason)
    raise TrainingFailed(
        f"job {job.name}",
        expected=f"a machine that lasts in one of {recipe.attempts} attempts (launch.attempts)",
        found=report.reason,
        do="run it again; it resumes from the last checkpoint",
    )


def release_lost(
    root: Path, launchers: Mapping[str, Launcher] | None = None, *, patience: LaunchRecipe | None = None
) -> list[str]:
    """Release every attempt whose driver has died, and return their names.

    Each launcher is asked once. Only the launcher of the recipe `patience` is asked until it answers or has been silent
    for too long, because a provider may take minutes to delete a machine. If an attempt cannot be released now, the log
    says so, and its record stays open for the next command.
    """
    known = launchers or {}
    return [each.name for each in records.records(root) if not each.ended and _release(root, each, known, patience)]


def _release(
    root: Path, record: AttemptRecord, launchers: Mapping[str, Launcher], patience: LaunchRecipe | None = None
) -> bool:
    """Release one attempt; return False if another process drives it or has ended it, or if that cannot be done now."""
    with ExitStack() as held:
        try:
            held.enter_context(records.driving(root, record.name))
        except SpecError:
            return False
        try:
            if records.read(root, record.name).ended:
                return False  # its driver has ended it since `record` was read
            launcher = launchers.get(record.launch.launcher) or open_launcher(record.launch)
            end_lease(record)
            if patience and patience.launcher == record.launch.launcher:
                _retry(lambda: launcher.release(record.name), patience)
            else:
                launcher.release(record.name)
        except (Unanswered, MegacppError) as error:
            _LOG.warning("%s lost its driver and cannot be released now: %s", record.name, error)
            return False
        records.end(root, record.name, "released after its launching process had ended")
        return True


def cancel(root: Path, name: str, launchers: Mapping[str, Launcher] | None = None) -> str:
    """Cancel the attempt `name` and return how it ended.

    The process that drives the attempt saves and releases it. Without such a process this function releases it.

    Raises:
        SpecError: no record has that name.
        TrainingFailed: the launcher's API gives no answer now.
    """
    records.cancel(root, name)
    while not records.read(root, name).ended and records.is_driven(root, name):
        time.sleep(_CANCEL_PAUSE)
    record = records.read(root, name)
    if not record.ended:
        _release(root, record, launchers or {})
    if ended := records.read(root, name).ended:
        return ended
    do = "check that its API can be reached, then cancel it again"
    raise TrainingFailed(f"run {name}", expected=f"an answer of {record.launch.launcher}", found="none", do=do)


@dataclass
class _Attempt:
    """`look` returns the state of the attempt. `report` is its last state, once that is known."""

    look: Callable[[], Report]
    report: Report = _INTERRUPTED

    def outcome(self) -> str:
        """Return the outcome in words, for the record."""
        state, reason = self.report.state, self.report.reason
        return reason if state is AttemptState.RUNNING else state.value + (f": {reason}" if reason else "")


@contextmanager
def _attempt(
    launcher: Launcher, recipe: LaunchRecipe, order: AttemptOrder, channel: JobChannel, progress: AttemptProgress
) -> Iterator[_Attempt]:
    """Start an attempt, and release it on leaving."""
    root = order.job.folder
    attempt = _Attempt(lambda: _state(launcher, channel, records.read(root, order.name)))

    def release() -> None:
        _retry(lambda: launcher.release(order.name), recipe)
        records.end(root, order.name, attempt.outcome(), progress.rate())

    # The callbacks run from the last to the first, and each one runs even if another fails.
    with records.driving(root, order.name), ExitStack() as leaving:
        leaving.callback(_retry, channel.collect, recipe)
        records.begin(root, order, recipe)
        leaving.callback(release)
        leaving.callback(_retry, channel.close, recipe)
        _retry(lambda: channel.open(order.attempt), recipe)
        _retry(lambda: _submit(launcher, order, channel), recipe)
        yield attempt


def _state(launcher: Launcher, channel: JobChannel, record: AttemptRecord) -> Report:
    """Return the state of the attempt. The job's own report counts more than the launcher's, which is an exit code.

    `Unanswered` if the launcher gives no answer and the job has not reported its end.
    """
    if record.cancelled:
        return Report(AttemptState.FAILED, "a request to cancel it")
    try:
        from_launcher = launcher.look(record.name)
    except Unanswered:
        from_job = channel.look()  # this also renews the lease: a silent API must not end a job that runs
        if from_job.state is AttemptState.RUNNING:
            raise
        return from_job
    from_job = channel.look()  # last: a job whose machine has ended has reported its end by now
    if from_job.state is not AttemptState.RUNNING:
        return from_job
    if from_launcher.state is AttemptState.RUNNING:
        return from_launcher if from_launcher.reason else from_job
    if from_launcher.state is AttemptState.SUCCEEDED and record.launch.exchange:
        return Report(AttemptState.FAILED, "its machine ended and the job reported no end")
    return from_launcher


def _submit(launcher: Launcher, order: AttemptOrder, channel: JobChannel) -> None:
    """Start the attempt. If the launcher gives no answer, renew the lease and raise `Unanswered`.

    So an attempt that began all the same does not end because the launcher's API is silent.
    """
    try:
        launcher.submit(order)
    except Unanswered:
        channel.look()
        raise


def _wait_for_end(look: Callable[[], Report], recipe: LaunchRecipe, progress: AttemptProgress) -> Report:
    """Look, first often and later less often, until the attempt has ended or is silent for too long."""
    pause, activity = 0.02, ""
    while True:
        report = _retry(look, recipe)
        if report.state is not AttemptState.RUNNING:
            return report
        if report.reason != activity:
            activity = report.reason
            progress.renew()
        if progress.silence() > recipe.silence_seconds:
            last = f" after {activity!r}" if activity else ""
            reason = f"no heartbeat for {recipe.silence_seconds} s (launch.silence_seconds){last}"
            return Report(AttemptState.FAILED, reason)
        time.sleep(pause)
        pause = min(pause * 1.5, recipe.look_seconds)


def _retry(ask: Callable[[], _T], recipe: LaunchRecipe) -> _T:
    """Return the answer of `ask`. Ask again after growing pauses; `TrainingFailed` after `recipe.silence_seconds`."""
    end, pause = time.monotonic() + recipe.silence_seconds, min(1.0, recipe.look_seconds)
    renewal = recipe.lease_seconds / _ASKED_PER_LEASE
    while True:
        asked = time.monotonic()
        try:
            return ask()
        except Unanswered as error:
            now = time.monotonic()
            wait = max(0.0, min(pause, asked + renewal - now))
            if now + wait > end:
                raise TrainingFailed(
                    f"launcher {recipe.launcher}",
                    expected=f"an answer within {recipe.silence_seconds} s (launch.silence_seconds)",
                    found=str(error),
                    do="check that its API can be reached, then run it again",
                ) from error
            time.sleep(wait)
            pause = min(pause * 2, _LONGEST_PAUSE)
