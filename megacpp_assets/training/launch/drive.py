"""A job from its first attempt to its end, whichever launcher runs it: patience, further attempts, release."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from megacpp_assets.contract.errors import MegacppError, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.training import LaunchRecipe
from megacpp_assets.training.job import LIVE_METRICS_FILE, Job
from megacpp_assets.training.launch import records
from megacpp_assets.training.launch.launcher import Launcher, Order, Report, State, Unanswered, open_launcher
from megacpp_assets.training.launch.pace import Pace
from megacpp_assets.training.launch.records import Record
from megacpp_assets.training.launch.side import Side, open_side, withdraw

_LOG = logging.getLogger(__name__)

Launch = Callable[[Job, Path], None]
"""Run a job to its end. The folder is the launcher's to write logs in, and has the job file.

Raises whatever it likes if the job fails; what counts is the checkpoint that the job publishes.
"""

_LONGEST_PAUSE: Final = 30.0
_CANCEL_PAUSE: Final = 0.1
_INTERRUPTED: Final = Report(State.RUNNING, "interrupted")
_T = TypeVar("_T")


def drive(launcher: Launcher, recipe: LaunchRecipe, job: Job, directory: Path) -> None:
    """Hand `job` over and return when it has succeeded.

    A job whose machine was taken away is started again, `recipe.attempts` times in all. `TrainingFailed` says why it
    ended otherwise, or that it gave no sign of life for `recipe.silence_seconds`. However this ends, nothing of the job
    is left running; what a killed process had left running is released first.
    """
    release_lost(job.folder, {recipe.launcher: launcher})
    side, pace = open_side(recipe, job, directory), Pace(directory / LIVE_METRICS_FILE)
    for _ in range(recipe.attempts):
        number = records.next_attempt(job.folder, job.name)
        order = Order(job, _answered(lambda known=number: side.free(known), recipe), side.place, recipe.nodes)  # type: ignore[misc]
        pace.begin()
        with _handed_over(launcher, recipe, order, side, pace) as attempt:
            report = attempt.report = _watch(attempt.look, recipe, pace)
        if report.state is State.SUCCEEDED:
            return
        if report.state is State.FAILED:
            raise TrainingFailed(f"job {job.name}", expected="exit code 0", found=report.reason)
    raise TrainingFailed(
        f"job {job.name}",
        expected=f"a machine that lasts in one of {recipe.attempts} attempts (launch.attempts)",
        found=report.reason,
        do="run it again; it goes on from the last checkpoint",
    )


def release_lost(
    root: Path, launchers: Mapping[str, Launcher] | None = None, *, patience: LaunchRecipe | None = None
) -> list[str]:
    """Release every attempt that nobody drives any more; their names. A launcher is asked once, that of the recipe
    `patience` until it has released them or was silent for too long: a provider may take minutes to delete.

    Where that cannot be done now, for want of an answer or of credentials, the log says so and the record stays open
    for the next command.
    """
    known = launchers or {}
    return [each.name for each in records.records(root) if not each.ended and _released(root, each, known, patience)]


def _released(
    root: Path, record: Record, launchers: Mapping[str, Launcher], patience: LaunchRecipe | None = None
) -> bool:
    with ExitStack() as held:
        try:
            held.enter_context(records.driving(root, record.name))
        except SpecError:
            return False  # somebody drives it
        try:
            launcher = launchers.get(record.launch.launcher) or open_launcher(record.launch)
            withdraw(record)
            if patience and patience.launcher == record.launch.launcher:
                _answered(lambda: launcher.release(record.name), patience)
            else:
                launcher.release(record.name)
        except (Unanswered, MegacppError) as error:
            _LOG.warning("%s, left by a launcher that has ended, cannot be released now: %s", record.name, error)
            return False
        records.end(root, record.name, "released after its launcher had ended")
        return True


def cancel(root: Path, name: str, launchers: Mapping[str, Launcher] | None = None) -> str:
    """Have the attempt given up; how it ended. Its driver saves and releases it; without one that is done here.

    `SpecError` for a name that is not on record, `TrainingFailed` where its API gives no answer now.
    """
    records.cancel(root, name)
    while not records.read(root, name).ended and records.driven(root, name):
        time.sleep(_CANCEL_PAUSE)
    record = records.read(root, name)
    if record.ended or _released(root, record, launchers or {}):
        return records.read(root, name).ended
    do = "see that its API can be reached, then cancel it again"
    raise TrainingFailed(f"run {name}", expected=f"an answer of {record.launch.launcher}", found="none", do=do)


@dataclass
class _Attempt:
    """`look` says how it stands, `report` how it ended, once that is known."""

    look: Callable[[], Report]
    report: Report = _INTERRUPTED

    def how(self) -> str:
        """In words, for its record."""
        state, reason = self.report.state, self.report.reason
        return reason if state is State.RUNNING else state.value + (f": {reason}" if reason else "")


@contextmanager
def _handed_over(launcher: Launcher, recipe: LaunchRecipe, order: Order, side: Side, pace: Pace) -> Iterator[_Attempt]:
    """The attempt, from its record to its release."""
    root = order.job.folder
    attempt = _Attempt(lambda: _look(launcher, side, records.read(root, order.name)))

    def release() -> None:
        _answered(lambda: launcher.release(order.name), recipe)
        records.end(root, order.name, attempt.how(), pace.rate())

    # Left from the last to the first, each whatever becomes of the others.
    with records.driving(root, order.name), ExitStack() as leaving:
        leaving.callback(_answered, side.collect, recipe)
        records.begin(root, order, recipe)
        leaving.callback(release)
        leaving.callback(_answered, side.close, recipe)
        _answered(lambda: side.open(order.attempt), recipe)
        _answered(lambda: launcher.submit(order), recipe)
        yield attempt


def _look(launcher: Launcher, side: Side, record: Record) -> Report:
    """What the job itself says of its end goes before what its launcher says, who knows an exit code at best."""
    if record.cancelled:
        return Report(State.FAILED, "a request to cancel it")
    launched = launcher.look(record.name)
    said = side.look()
    if said.state is not State.RUNNING:
        return said
    if launched.state is State.RUNNING:
        return launched if launched.reason else said
    if launched.state is State.SUCCEEDED and record.launch.exchange:
        return Report(State.FAILED, "the end of its machine without a word of the job")
    return launched


def _watch(look: Callable[[], Report], recipe: LaunchRecipe, pace: Pace) -> Report:
    """Look until it has ended, first often, later seldom."""
    pause, doing = 0.02, ""
    while True:
        report = _answered(look, recipe)
        if report.state is not State.RUNNING:
            return report
        if report.reason != doing:
            doing = report.reason
            pace.renew()
        if pace.silence() > recipe.silence_seconds:
            said = f" after {doing!r}" if doing else ""
            reason = f"no sign of life for {recipe.silence_seconds} s (launch.silence_seconds){said}"
            return Report(State.FAILED, reason)
        time.sleep(pause)
        pause = min(pause * 1.5, recipe.look_seconds)


def _answered(ask: Callable[[], _T], recipe: LaunchRecipe) -> _T:
    """The API's answer, asked again after growing pauses for as long as silence is borne."""
    end, pause = time.monotonic() + recipe.silence_seconds, min(1.0, recipe.look_seconds)
    while True:
        try:
            return ask()
        except Unanswered as error:
            if time.monotonic() + pause > end:
                raise TrainingFailed(
                    f"launcher {recipe.launcher}",
                    expected=f"an answer within {recipe.silence_seconds} s (launch.silence_seconds)",
                    found=str(error),
                    do="see that its API can be reached, then run it again",
                ) from error
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
