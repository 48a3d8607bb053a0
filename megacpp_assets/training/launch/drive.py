"""A job from its first attempt to its end, whichever launcher runs it: patience, further attempts, release."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from megacpp_assets.contract.errors import TrainingFailed
from megacpp_assets.contract.recipe import LaunchRecipe
from megacpp_assets.training.job import LIVE_METRICS_FILE, Job
from megacpp_assets.training.launch.launcher import Launcher, Report, State, Unanswered

Launch = Callable[[Job, Path], None]
"""Run a job to its end. The folder is the launcher's to write logs in, and has the job file.

Raises whatever it likes if the job fails; what counts is the checkpoint that the job publishes.
"""

_LONGEST_PAUSE = 30.0
_T = TypeVar("_T")


@dataclass
class _Life:
    """When the job last showed that it lives: an attempt began, or its metrics grew."""

    metrics: Path
    size: int = 0
    since: float = 0.0

    def renew(self) -> None:
        """An attempt begins."""
        self.since = time.monotonic()

    def silence(self) -> float:
        """Seconds since the last sign."""
        size = self.metrics.stat().st_size if self.metrics.is_file() else 0
        if size != self.size:
            self.size, self.since = size, time.monotonic()
        return time.monotonic() - self.since


def drive(launcher: Launcher, recipe: LaunchRecipe, job: Job, directory: Path) -> None:
    """Hand `job` over and return when it has succeeded.

    A job whose machine was taken away is started again, `recipe.attempts` times in all. `TrainingFailed` says why it
    ended otherwise, or that it gave no sign of life for `recipe.silence_seconds`. However this ends, nothing of the job
    is left running.
    """
    life = _Life(directory / LIVE_METRICS_FILE)
    for attempt in range(1, recipe.attempts + 1):
        life.renew()
        with _handed_over(launcher, recipe, job, attempt, directory) as handle:
            report = _watch(launcher, recipe, handle, life)
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


@contextmanager
def _handed_over(launcher: Launcher, recipe: LaunchRecipe, job: Job, attempt: int, directory: Path) -> Iterator[str]:
    handle = _answered(lambda: launcher.submit(job, attempt, directory), recipe)
    try:
        yield handle
    finally:
        _answered(lambda: launcher.release(handle), recipe)


def _watch(launcher: Launcher, recipe: LaunchRecipe, handle: str, life: _Life) -> Report:
    """Look until it has ended, first often, later seldom."""
    pause = 0.02
    while True:
        report = _answered(lambda: launcher.look(handle), recipe)
        if report.state is not State.RUNNING:
            return report
        if life.silence() > recipe.silence_seconds:
            reason = f"no sign of life for {recipe.silence_seconds} s (launch.silence_seconds)"
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
