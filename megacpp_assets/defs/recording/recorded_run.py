"""A run of a job whose work is done by a command: it writes the events that Dagster's executor would write.

So the UI shows it as its own: a bar for each op, captured logs, its place on the timeline, and "Open in Launchpad".
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, Final

import dagster as dg
from dagster import DagsterEvent, DagsterEventType, DagsterRun

from megacpp_assets.compute.lifetime import signals_deferred
from megacpp_assets.defs.dagster_private import (
    MAX_RETRIES_TAG,
    ComputeLogsCaptureData,
    LoadableTargetOrigin,
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
    SerializableErrorInfo,
    StepFailureData,
    StepSuccessData,
)
from megacpp_assets.defs.home.run_logs import FILE_KEY, command_log
from megacpp_assets.defs.home.together import written_together
from megacpp_assets.defs.recording.events import Event

CODE_LOCATION: Final = "megacpp_assets.definitions"
"""The module that defines the jobs. Every server of the assets serves it under this name."""
_REPOSITORY: Final = "__repository__"
"""Dagster's name for the definitions of a module."""
COMMAND_TAG: Final = ".dagster/megacpp_command"
"""The tag of runs whose process belongs to a command.

The prefix hides it, because the UI copies all other tags to a re-execution, whose process belongs to the UI.
"""
MISSING: Final = "missing"
"""The value of that tag for runs that record missing folders."""
TITLE_TAG: Final = "megacpp/command"
"""The same for people to read."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a command runs: the `ops` of the job that `job` builds, and the `config` that runs it again."""

    title: str
    lock: str
    """Commands with the same value never run at the same time in one data root."""
    job_name: str
    job: Callable[[], dg.JobDefinition]
    ops: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


class RecordedRun:
    """The run of a command. Nothing is recorded before `begin`."""

    def __init__(self, instance: dg.DagsterInstance, command: Command) -> None:
        # A killed command is started again by whoever started it, not by Dagster's daemon.
        tags = {COMMAND_TAG: command.lock, TITLE_TAG: command.title, MAX_RETRIES_TAG: "0", **command.tags}
        self.run = DagsterRun(job_name=command.job_name, status=dg.DagsterRunStatus.NOT_STARTED, tags=tags)
        self.begun = False
        self._instance = instance
        self._command = command
        self._started: dict[str, float] = {}
        self._open = ExitStack()
        self._log: IO[Any] | None = None

    def begin(self) -> None:
        """Create the run in Dagster, unless it exists."""
        if self.begun:
            return
        self.begun = True
        _fail_dead_runs(self._instance, self._command.lock)
        self._create()
        self._log = self._open.enter_context(command_log(self._instance, self.run.run_id))
        self._report(DagsterEventType.RUN_START, f"{self._command.title} started")
        if self._log is not None:
            captured = ComputeLogsCaptureData(FILE_KEY, list(self._command.ops))
            self._report(DagsterEventType.LOGS_CAPTURED, "Output of the command.", data=captured)

    def _create(self) -> None:
        """Store the run with snapshots of its job and plan, from which the UI draws its graph and its timeline."""
        job, ops = self._command.job(), self._command.ops
        selection = list(ops) if len(ops) < len(job.nodes) else None
        self._instance.create_run_for_job(
            job,
            run_id=self.run.run_id,
            run_config=dict(self._command.config),
            status=self.run.status,
            tags=dict(self.run.tags),
            op_selection=selection,
            resolved_op_selection=set(ops) if selection else None,
            remote_job_origin=_origin(job.name),
        )

    def start(self, op: str) -> None:
        """Record that the op began, once."""
        self.begin()
        if op not in self._started:
            self._started[op] = time.monotonic()
            self._report(DagsterEventType.STEP_START, f'Started execution of step "{op}".', op)

    def has_started(self, op: str) -> bool:
        """Return whether `start` was called for the op."""
        return op in self._started

    def succeed(self, op: str) -> None:
        """Record that the op ended well."""
        milliseconds = 1000 * (time.monotonic() - self._started[op])
        lasted = StepSuccessData(milliseconds)  # type: ignore[no-untyped-call]
        self._report(DagsterEventType.STEP_SUCCESS, f'Finished execution of step "{op}".', op, lasted)

    def skip(self, op: str, why: str) -> None:
        """Record that the op did not run."""
        self._report(DagsterEventType.STEP_SKIPPED, f"{op}: {why}", op)

    def fail(self, op: str, why: str) -> None:
        """Record that the op failed."""
        error = StepFailureData(SerializableErrorInfo(why, [], None), None)  # type: ignore[no-untyped-call]
        self._report(DagsterEventType.STEP_FAILURE, why, op, error, level=logging.ERROR)

    def say(self, op: str, words: str, *, to_events: bool = True) -> None:
        """Write a line to the captured log, and to the event log as a message of the op."""
        self.begin()
        now = time.time()
        if self._log is not None:
            self._log.write(f"{time.strftime('%H:%M:%S', time.localtime(now))} {words}\n")
            self._log.flush()
        if to_events:
            entry = dg.EventLogEntry(  # type: ignore[no-untyped-call]
                None, logging.INFO, words, self.run.run_id, now, step_key=op, job_name=self.run.job_name
            )
            with signals_deferred():
                self._instance.handle_new_event(entry)

    def report(self, op: str, events: Iterable[Event]) -> None:
        """Record events of assets as events of the op."""
        with written_together(self._instance, self.run.run_id):
            for kind, data in events:
                self._report(kind, "", op, data)

    def end(self, failure: str = "", *, interrupted: bool = False) -> None:
        """Record how the command ended; nothing if the run never began."""
        if not self.begun:
            return
        if interrupted:
            self._instance.report_run_canceled(self.run, f"{self._command.title} was interrupted")
        elif failure:
            self._instance.report_run_failed(self.run, failure)
        else:
            self._report(DagsterEventType.RUN_SUCCESS, f"{self._command.title} ended")
        self._open.close()

    def _report(
        self, kind: DagsterEventType, message: str, op: str | None = None, data: Any = None, level: int = logging.INFO
    ) -> None:
        job, process = self.run.job_name, os.getpid()
        event = DagsterEvent(
            kind.value, job, message=message or None, step_key=op, event_specific_data=data, pid=process
        )
        with signals_deferred():
            self._instance.report_dagster_event(event, self.run.run_id, log_level=level)


@contextmanager
def ending(end: Callable[..., None]) -> Iterator[None]:
    """Call `end` after the block: with the message of what the block raises, or as interrupted."""
    with ExitStack() as stack:
        stack.push(lambda _type, error, _trace: _end_with(end, error))
        yield


def _end_with(end: Callable[..., None], error: BaseException | None) -> None:
    if isinstance(error, KeyboardInterrupt):
        end(interrupted=True)
    elif error is not None:
        end(str(error) or type(error).__name__)
    else:
        end()


def _fail_dead_runs(instance: dg.DagsterInstance, lock: str) -> None:
    """Mark runs of earlier commands as failed that still look started.

    Only one command with the same lock runs at a time, so those were killed.
    """
    statuses = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTED]
    for run in instance.get_runs(dg.RunsFilter(statuses=statuses, tags={COMMAND_TAG: lock})):
        instance.report_run_failed(run, "the process was killed")


def _origin(job_name: str) -> RemoteJobOrigin:
    target = LoadableTargetOrigin(executable_path=sys.executable, module_name=CODE_LOCATION)
    location = ManagedGrpcPythonEnvCodeLocationOrigin(target, CODE_LOCATION)
    return RemoteRepositoryOrigin(location, _REPOSITORY).get_job_origin(job_name)
