"""How the UI ends: with everything that it started, also with a run that is at work."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.launch.client import records
from tests.ui.running import (
    TERMINATE,
    Ui,
    assert_every_run_ended,
    launched_indexing,
    none_is_left_of,
    running_ui,
    status_of,
    wait_for,
)
from tests.ui.trainings import add_training, at_work, launched_training, newest, steps_of

WORKER = "megacpp_assets.pipeline.worker"


@pytest.fixture(scope="module")
def ui(root: Path) -> Iterator[Ui]:
    with running_ui(add_training(root)) as running:
        yield running


def run_at_work(ui: Ui) -> psutil.Process | None:
    """The process of the run, once its worker has started parsers of its own."""
    for process in psutil.Process(ui.process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any(WORKER in child.cmdline() and len(child.children()) > 1 for child in process.children()):
                return process
    return None


def test_a_training_that_a_person_cancels_is_saved_and_leaves_no_process(ui: Ui, root: Path) -> None:
    run_id = launched_training(ui)
    processes = at_work(ui, root, run_id)
    before = steps_of(newest(root))
    assert ui.graphql(TERMINATE, id=run_id)["terminateRun"]["__typename"] == "TerminateRunSuccess"
    wait_for(lambda: status_of(ui, run_id) == "CANCELED")
    wait_for(lambda: none_is_left_of(processes))
    assert [record.ended for record in records.records(root)] == ["interrupted"]
    checkpoint = newest(root)
    assert checkpoint and checkpoint.verify() and steps_of(checkpoint) >= before


@pytest.mark.campaign
def test_a_training_whose_run_is_killed_leaves_no_process_and_what_it_saved(ui: Ui, root: Path) -> None:
    run_id = launched_training(ui)
    run, *below = at_work(ui, root, run_id)
    before = steps_of(newest(root))
    run.kill()
    wait_for(lambda: none_is_left_of([run, *below]))
    wait_for(lambda: status_of(ui, run_id) == "FAILURE")
    checkpoint = newest(root)
    assert checkpoint and checkpoint.verify() and steps_of(checkpoint) >= before


@pytest.mark.campaign
def test_what_a_run_started_ends_with_it_when_a_person_cancels_it(ui: Ui, root: Path) -> None:
    run_id = launched_indexing(ui)
    run = wait_for(lambda: run_at_work(ui))
    below = [run, *run.children(recursive=True)]
    assert ui.graphql(TERMINATE, id=run_id)["terminateRun"]["__typename"] == "TerminateRunSuccess"
    assert (
        wait_for(lambda: status_of(ui, run_id) not in ("STARTED", "CANCELING") and status_of(ui, run_id)) == "CANCELED"
    )
    wait_for(lambda: none_is_left_of(below))
    assert not list(root.glob(f"jsonl/*/*/{COMPLETE_FILE}"))


def test_what_a_killed_run_started_ends_with_it_and_the_run_is_started_again_until_the_ui_ends(
    ui: Ui, root: Path
) -> None:
    run_id = launched_indexing(ui)
    run = wait_for(lambda: run_at_work(ui))
    below = [run, *run.children(recursive=True)]
    run.kill()
    wait_for(lambda: none_is_left_of(below))
    assert wait_for(lambda: status_of(ui, run_id) != "STARTED" and status_of(ui, run_id)) == "FAILURE"
    wait_for(lambda: run_at_work(ui))
    assert ui.end(signal.SIGTERM) == 0
    assert_every_run_ended(root)
