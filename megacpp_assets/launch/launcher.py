"""The interface of a launcher: an order for one attempt goes in, and reports on the attempt come out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from megacpp_assets.training.job import TrainingJob


class AttemptState(Enum):
    """The state of an attempt."""

    RUNNING = "running"
    """The attempt runs, or waits for a machine."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PREEMPTED = "preempted"
    """The provider took the machine away. The next attempt resumes from the newest checkpoint."""


@dataclass(frozen=True, slots=True)
class Report:
    """The state of an attempt, and the reason in words."""

    state: AttemptState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AttemptOrder:
    """One attempt at a job, on `nodes` machines.

    `place` is the URI of the folder that holds the job file: a folder of this machine, or a folder of an exchange.
    """

    job: TrainingJob
    attempt: int
    place: str
    nodes: int = 1

    @property
    def name(self) -> str:
        """The unique name of the attempt: at most 40 lower-case letters, digits and '-'."""
        return f"{self.job.name}-{self.attempt}"

    @property
    def folder(self) -> Path:
        """Return `place` as a folder of this machine."""
        return Path(unquote(urlsplit(self.place).path))

    @property
    def processes(self) -> int:
        """The number of training processes on each node."""
        return self.job.recipe.processes // self.nodes

    def command(self, folder: str, python: str = "python", node_variable: str = "") -> list[str]:
        """Return the command that runs the attempt on a machine where the wheel is installed.

        The attempt writes to `folder`. On several nodes the scheduler sets the environment variable `node_variable` to
        the number of the node.
        """
        module = "megacpp_assets.launch.job.run_attempt"
        several = ["--nodes", str(self.nodes), "--number-from", node_variable] if self.nodes > 1 else []
        return [python, "-m", module, self.place, "--attempt", str(self.attempt), "--folder", folder, *several]


class Launcher(Protocol):
    """Starts attempts on one kind of machine. It only calls its own API: `client/drive.py` retries and releases.

    What a launcher starts has the order's name, so any process can look it up and release it. `Unanswered` means that
    the API gave no answer, and the caller asks again. Any other error ends the attempt.

    The module of a launcher also has three constants: `NEEDS_EXCHANGE` (the job cannot reach the data root),
    `MANY_NODES` (a job may have several machines) and `DEVICES` (the devices that its machines have).
    """

    def plan(self, order: AttemptOrder) -> str:
        """Return exactly what `submit` would ask for, as readable text."""

    def submit(self, order: AttemptOrder) -> None:
        """Start the attempt. A second call for the same order starts nothing."""

    def look(self, name: str) -> Report:
        """Return the state of the attempt `name`."""

    def release(self, name: str) -> None:
        """Stop the attempt and free everything that it holds; do nothing if it is already gone."""


class Unanswered(Exception):
    """The API or exchange gave no usable answer. It may answer later."""
