"""Telling Dagster how a run goes, where Dagster Pipes started it; elsewhere nobody listens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from dagster_pipes import DAGSTER_PIPES_CONTEXT_ENV_VAR, open_dagster_pipes

from megacpp_assets.training.record import StepMetrics

Report = Callable[[StepMetrics], None]
_MESSAGES: Final = 20
"""Messages in all: Dagster keeps each in its database."""


@contextmanager
def reporting(total: int, rank: int) -> Iterator[Report]:
    """A function that sends a step's metrics to Dagster: about twenty of `total`, from rank 0 only."""
    if rank != 0 or DAGSTER_PIPES_CONTEXT_ENV_VAR not in os.environ:
        yield lambda metrics: None
        return
    every = max(1, total // _MESSAGES)
    with open_dagster_pipes() as context:

        def report(metrics: StepMetrics) -> None:
            if metrics.step % every == 0 or metrics.step == total:
                context.report_custom_message({"step": metrics.step, "steps": total, "loss": metrics.loss})
                context.log.info(f"step {metrics.step}/{total}: loss {metrics.loss:.4f}")

        yield report
