"""Logs the progress of a run that Dagster started, in the run's own log."""

from __future__ import annotations

import dagster as dg

from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.steps import Step

_PARTS = 10


class LogWatch:
    """A `Watch` that logs each start and end, and each tenth of a step's own units."""

    def __init__(self, log: dg.DagsterLogManager) -> None:
        self._log = log
        self._reported: dict[str, int] = {}

    def step_was_current(self, step: Step, done: Done) -> None:
        """See `Watch`."""
        self._log.info(f"{step.name}: complete already, {done.artifact.path}")

    def step_waits(self, step: Step, found: str) -> None:
        """See `Watch`."""
        self._log.info(f"{step.name}: waits for a slot of {step.resource}, {found}")

    def step_starts(self, step: Step) -> None:
        """See `Watch`."""
        self._log.info(f"{step.name}: starts")

    def step_progressed(self, step: Step, done: int, total: int) -> None:
        """See `Watch`."""
        part = _PARTS * done // max(1, total)
        if part > self._reported.get(step.name, 0):
            self._reported[step.name] = part
            self._log.info(f"{step.name}: {done} of {total}")

    def step_ended(self, step: Step, done: Done) -> None:
        """See `Watch`."""
        self._log.info(f"{step.name}: made {done.artifact.path} in {done.receipt.seconds:.1f} s")
