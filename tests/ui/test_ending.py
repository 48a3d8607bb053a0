"""How the UI ends: with everything that it started, also with a run that is at work."""

from __future__ import annotations

import signal
from pathlib import Path

import dagster as dg
import psutil
import pytest

from megacpp_assets.defs.instance import open_instance
from tests.ui.running import LAUNCH, launch_of, running_ui, status_of, wait_for


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything_while_a_run_is_active(root: Path, number: signal.Signals) -> None:
    with running_ui(root) as ui:
        execution = launch_of("semantic_jsonl")
        run_id = ui.graphql(LAUNCH, execution=execution)["launchRun"]["run"]["runId"]
        assert wait_for(lambda: status_of(ui, run_id) in ("STARTED", "SUCCESS") and status_of(ui, run_id)) == "STARTED"
        assert ui.end(number) == 0
    with open_instance(root) as instance:
        run = instance.get_run_by_id(run_id)
        assert run is not None and run.status in (dg.DagsterRunStatus.CANCELED, dg.DagsterRunStatus.FAILURE)
        assert not instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))


def test_a_service_that_dies_ends_the_ui_with_one_sentence(root: Path) -> None:
    with running_ui(root) as ui:
        children = psutil.Process(ui.process.pid).children()
        server = next(child for child in children if "code-server" in child.cmdline())
        server.kill()
        assert ui.process.wait(180) == 1
        assert not [child for child in children if child.is_running()]


def test_nothing_outlives_a_ui_that_is_killed(root: Path) -> None:
    with running_ui(root) as ui:
        below = psutil.Process(ui.process.pid).children(recursive=True)
        assert len(below) >= 3, "the server of the assets, the one that it starts, and the daemon"
        ui.process.kill()
        wait_for(lambda: not any(process.is_running() for process in below))
