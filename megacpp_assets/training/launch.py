"""How a training process is started: a function value, so that Dagster's Pipes client can take its place."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import TrainingFailed

Launch = Callable[[Sequence[str], Path], None]
"""Run a command to its end. The folder is the launcher's to write logs in; the command needs nothing else of it.

Raises whatever it likes if the command fails; what counts is the checkpoint that the command publishes.
"""

LOG_FILE: Final = "output.log"
_TAIL_BYTES = 2000
GRACE_SECONDS: Final = 30
"""How long a training process that is asked to stop may take over the step it is in and over saving."""


def launch_local(command: Sequence[str], directory: Path) -> None:
    """Run `command` on this machine, its output in `output.log`. `TrainingFailed` with the log's end if it fails."""
    log = directory / LOG_FILE
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        try:
            code = process.wait()
        finally:
            _stop(process)
    if code != 0:
        raise TrainingFailed("training process", expected="exit code 0", found=f"{code}: …{_tail(log)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that is still running because waiting for it was interrupted; it may save first."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _tail(log: Path) -> str:
    return log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
