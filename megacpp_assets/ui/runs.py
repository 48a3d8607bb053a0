"""The runs that the UI started. They end with it, and their end is recorded in Dagster."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import dagster as dg
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.client import DagsterGrpcClient

from megacpp_assets.defs.recording.recorded_run import COMMAND_TAG
from megacpp_assets.ui.ending import Deadline
from megacpp_assets.ui.services import answers

_AT_WORK = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_POLL_SECONDS = 0.2


def cancel_runs(instance: dg.DagsterInstance, deadline: Deadline) -> None:
    """Ask the running runs to end, and wait for them: a training saves a checkpoint. Queued runs stay for the next
    UI.
    """
    for run in _at_work(instance):
        try:
            instance.run_launcher.terminate(run.run_id)
        except DagsterUserCodeUnreachableError:
            continue  # a UI that was killed started it, so nobody answers
    while any(_at_work(instance)) and deadline.left():
        time.sleep(min(_POLL_SECONDS, deadline.left()))


def fail_killed_runs(instance: dg.DagsterInstance) -> None:
    """Record the end of runs whose processes were killed, because they could not do it themselves."""
    for run in _at_work(instance):
        instance.report_run_failed(run, "the UI that started it was ended, and its process with it")


def fail_dead_runs(instance: dg.DagsterInstance) -> None:
    """Record the end of runs whose server is gone, as after a kill of the UI. Dagster then starts them again."""
    for run in _at_work(instance):
        server = json.loads(run.tags.get(GRPC_INFO_TAG, "{}"))
        if server.get("socket") and not answers(DagsterGrpcClient(socket=server["socket"])):
            instance.report_run_failed(run, "the UI that started it was killed, and its process with it")


def _at_work(instance: dg.DagsterInstance) -> Iterator[dg.DagsterRun]:
    """Yield the running runs of this UI. Runs of a command such as `megacpp run` have a process of their own."""
    for run in instance.get_runs(dg.RunsFilter(statuses=_AT_WORK)):
        if COMMAND_TAG not in run.tags:
            yield run
