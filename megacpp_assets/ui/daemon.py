"""Dagster's daemon with two changes for which Dagster has no setting.

- It looks after backfills every few seconds instead of every 30. A backfill over complete partitions takes three looks:
  at what it asks for, at its runs, and at their end.
- It loses no retry of a failed run. Dagster stores the event of a failure first, and the new status of the run after
  it. If its daemon looked in between, it found a run at work. It did not retry the run, and did not look again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from logging import Logger
from typing import Any, Final

import dagster as dg
from dagster._core.storage.dagster_run import RunRecord
from dagster._core.workspace.context import IWorkspaceProcessContext
from dagster._daemon import controller
from dagster._daemon.auto_run_reexecution import event_log_consumer
from dagster._daemon.auto_run_reexecution.auto_run_reexecution import consume_new_runs_for_automatic_reexecution
from dagster._daemon.cli import main

BACKFILL_SECONDS: Final = 3
_STATUS_SECONDS: Final = 60
"""A status that does not follow its event within this time never does: the process that stored the event is dead. The
daemon's monitoring then reports the failure again."""
_POLL_SECONDS: Final = 0.1


def retry_ended_runs(
    context: IWorkspaceProcessContext[Any], records: Sequence[RunRecord], logger: Logger
) -> Iterator[None]:
    """Retry failed runs of `records`, which all have an event of their end, once their statuses say so too."""
    end = time.monotonic() + _STATUS_SECONDS
    ids = [record.dagster_run.run_id for record in records]
    while time.monotonic() < end and not all(record.dagster_run.is_finished for record in records):
        yield
        time.sleep(_POLL_SECONDS)
        records = context.instance.get_run_records(dg.RunsFilter(run_ids=ids))
    yield from consume_new_runs_for_automatic_reexecution(context, records, logger)


if __name__ == "__main__":
    controller.DEFAULT_DAEMON_INTERVAL_SECONDS = BACKFILL_SECONDS
    event_log_consumer.consume_new_runs_for_automatic_reexecution = retry_ended_runs
    main()
