"""Training on this machine: one process, or one for each of the recipe's `processes`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from megacpp_assets.training.job import JOB_FILE, Job
from megacpp_assets.training.launch.launcher import Report, State
from megacpp_assets.training.process import GRACE_SECONDS, Owner

LOG_FILE: Final = "output.log"
_TAIL_BYTES = 2000


@dataclass(frozen=True, slots=True)
class Settings:
    """None."""


def open_launcher(settings: Settings) -> Local:
    """The launcher of this machine."""
    del settings
    return Local()


def command(job: Job, directory: Path) -> list[str]:
    """What trains the job whose file stands in `directory`, for as long as this process lives."""
    module = "trainer" if job.recipe.processes == 1 else "group"
    file = str(directory / JOB_FILE)
    return [sys.executable, "-m", f"megacpp_assets.training.{module}", "--job", file, *Owner.current().arguments()]


@dataclass
class Local:
    """Processes of this machine by their numbers. They die with this process, and log to `output.log`."""

    _running: dict[str, tuple[subprocess.Popen[bytes], Path]] = field(default_factory=dict)

    def plan(self, job: Job) -> str:
        """The command."""
        return " ".join(command(job, Path("."))) + "\n"

    def submit(self, job: Job, attempt: int, directory: Path) -> str:
        """Start it."""
        del attempt
        log = directory / LOG_FILE
        with log.open("ab") as output:
            process = subprocess.Popen(
                command(job, directory), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        self._running[str(process.pid)] = (process, log)
        return str(process.pid)

    def look(self, handle: str) -> Report:
        """By its exit code; the end of the log says why it failed."""
        process, log = self._running[handle]
        code = process.poll()
        if code is None:
            return Report(State.RUNNING)
        if code == 0:
            return Report(State.SUCCEEDED)
        return Report(State.FAILED, f"{code}: …{log.read_bytes()[-_TAIL_BYTES:].decode(errors='replace').strip()}")

    def release(self, handle: str) -> None:
        """Ask it to save and end; end it if it takes over `GRACE_SECONDS`."""
        process, _ = self._running.pop(handle)
        if process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
