"""Starts, waits for and stops the processes of a training on this machine."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

from megacpp_assets.training.job import JOB_FILE, TrainingJob
from megacpp_assets.training.processes.node import NodeRank
from megacpp_assets.training.processes.process import GRACE_SECONDS, Owner

LOG_FILE: Final = "output.log"
_TAIL_BYTES: Final = 2000
_ONLY_NODE: Final = NodeRank()


def command(job: TrainingJob, directory: Path, node: NodeRank = _ONLY_NODE) -> list[str]:
    """Return the command that trains, on this node, the job whose file is in `directory`.

    The training ends when this process ends.
    """
    ranks = node.ranks(job.recipe.processes)
    module, which = ("trainer", ["--rank", str(ranks[0])]) if len(ranks) == 1 else ("processes.group", [])
    options = ["--job", str(directory / JOB_FILE), *which, *node.arguments(), *Owner.current().arguments()]
    return [sys.executable, "-m", f"megacpp_assets.training.{module}", *options]


@dataclass
class TrainingProcesses:
    """The running training of the job whose file is in `directory`. The processes log to `output.log` there."""

    job: TrainingJob
    directory: Path
    node: NodeRank = _ONLY_NODE
    _process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        with (self.directory / LOG_FILE).open("ab") as output:
            self._process = subprocess.Popen(
                command(self.job, self.directory, self.node),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> TrainingProcesses:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all processes."""
        self.stop()

    def code(self, wait_seconds: float = 0.0) -> int | None:
        """Wait up to `wait_seconds`; return the exit code, or None if the training still runs.

        If a signal ended the process, the code is minus the number of the signal.
        """
        try:
            return self._process.wait(wait_seconds)
        except subprocess.TimeoutExpired:
            return None

    def log_tail(self) -> str:
        """Return the last 2,000 bytes of the log."""
        return (self.directory / LOG_FILE).read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()

    def stop(self) -> None:
        """Ask the processes to save and end; kill them after `GRACE_SECONDS`."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
