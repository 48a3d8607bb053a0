"""A failed run is retried even if the daemon reads the event of the failure before the run's new status is stored."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
from dagster._core.utils import make_new_run_id
from dagster._daemon.auto_run_reexecution.auto_run_reexecution import consume_new_runs_for_automatic_reexecution

from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.ui.daemon import retry_ended_runs

LOGGER = logging.getLogger(__name__)


def stored_run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus) -> dg.DagsterRun:
    return instance.add_run(dg.DagsterRun(job_name="line", run_id=make_new_run_id(), status=status))


def is_retried(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether Dagster tried to launch the run again. It cannot: the run belongs to no code location."""
    return any("unable to retry the run" in (entry.message or "") for entry in instance.all_logs(run.run_id))


def test_a_run_whose_status_follows_its_failure_late_is_retried(tmp_path: Path) -> None:
    with open_instance(tmp_path) as instance:
        context: Any = SimpleNamespace(instance=instance, create_request_context=lambda: None)
        run = stored_run(instance, dg.DagsterRunStatus.STARTED)
        records = instance.get_run_records(dg.RunsFilter(run_ids=[run.run_id]))
        list(consume_new_runs_for_automatic_reexecution(context, records, LOGGER))
        assert not is_retried(instance, run), "Dagster's own function looks once"
        late = threading.Timer(0.5, instance.report_run_failed, [run])
        late.start()
        list(retry_ended_runs(context, records, LOGGER))
        late.join()
        assert is_retried(instance, run)


def test_a_run_that_succeeded_is_not_retried(tmp_path: Path) -> None:
    with open_instance(tmp_path) as instance:
        context: Any = SimpleNamespace(instance=instance, create_request_context=lambda: None)
        run = stored_run(instance, dg.DagsterRunStatus.SUCCESS)
        list(retry_ended_runs(context, instance.get_run_records(dg.RunsFilter(run_ids=[run.run_id])), LOGGER))
        assert not is_retried(instance, run)
