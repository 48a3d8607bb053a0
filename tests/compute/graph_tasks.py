"""Tasks for the tests of the task graph: the payload says what a worker does."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from megacpp_assets.compute.worker_process import Message, serve
from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.contract.step import Progress


def handle(task: Message, progress: Progress) -> Any:
    """Log the start, do what the payload says, log the end."""
    log = Path(task["log"])
    try:  # whoever reads the start may end this process at once
        _append(log, f"start {task['name']} {task['cores']} {os.getpid()}")
        _do(task, progress)
    finally:
        _append(log, f"end {task['name']}")
    return {"answer": task["name"]}


def _do(task: Message, progress: Progress) -> None:
    for name in task.get("waits_for", ()):
        _wait_for(Path(task["log"]), f"start {name} ")
    match task.get("does"):
        case "refuse":
            raise CheckFailed("a check", expected="1", found="2", do="mend it")
        case "blunder":
            raise RuntimeError("nobody foresaw this")
        case "miss a library":
            raise ModuleNotFoundError("No module named 'rensa'", name="rensa")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "sleep":
            time.sleep(600)
        case "count":
            progress(1, 2)
            time.sleep(0.2)
            progress(2, 2)
        case "count later":
            threading.Thread(target=_count_until, args=(progress, Path(task["log"]), "end b"), daemon=True).start()
        case "wait":
            time.sleep(0.5)


def _count_until(progress: Progress, log: Path, text: str) -> None:
    while text not in log.read_text():
        progress(1, 2)
        time.sleep(0.05)


def _wait_for(log: Path, text: str) -> None:
    deadline = time.monotonic() + 180
    while text not in log.read_text():
        assert time.monotonic() < deadline, f"never saw {text!r}"
        time.sleep(0.01)


def _append(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(line + "\n")


if __name__ == "__main__":
    serve(handle)
