"""The processes of a training on this machine, as whoever starts them sees them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

from megacpp_assets.training.job import JOB_FILE, Job
from megacpp_assets.training.processes.node import Node
from megacpp_assets.training.processes.process import GRACE_SECONDS, Owner

LOG_FILE: Final = "output.log"
_TAIL_BYTES: Final = 2000
_ALONE: Final = Node()


def command(job: Job, directory: Path, node: Node = _ALONE) -> list[str]:
    """What trains, on this node, the job whose file stands in `directory`, for as long as this process lives."""
    ranks = node.ranks(job.recipe.processes)
    module, which = ("trainer", ["--rank", str(ranks[0])]) if len(ranks) == 1 else ("processes.group", [])
    told = ["--job", str(directory / JOB_FILE), *which, *node.arguments(), *Owner.current().arguments()]
    return [sys.executable, "-m", f"megacpp_assets.training.{module}", *told]


@dataclass
class Trainees:
    """The training of the job whose file stands in `directory`, from its start. They log to `output.log` there."""

    job: Job
    directory: Path
    node: Node = _ALONE
    _process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        with (self.directory / LOG_FILE).open("ab") as output:
            self._process = subprocess.Popen(
                command(self.job, self.directory, self.node),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Trainees:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """None is left."""
        self.stop()

    def code(self, wait_seconds: float = 0.0) -> int | None:
        """The exit code, minus the number of a signal that ended it; None while it runs on after that time."""
        try:
            return self._process.wait(wait_seconds)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self) -> str:
        """The end of the log."""
        return (self.directory / LOG_FILE).read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()

    def stop(self) -> None:
        """Ask them to save and end; end them if that takes over `GRACE_SECONDS`."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
