"""Several training processes on this node, started together and ended together.

The command that a job of more than one process is started by. Exit codes are those of one process: the first bad one,
else 75 where they were stopped.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from megacpp_assets.compute.lifetime import die_with_parent
from megacpp_assets.contract.errors import TrainingFailed
from megacpp_assets.training.job import FAILURE_FILE, STORE_FOLDER, Job
from megacpp_assets.training.processes.node import Node
from megacpp_assets.training.processes.process import EXIT_STOPPED, Owner, StopRequest, die_with, leave

_TRAINER = "megacpp_assets.training.trainer"
_OF_A_SIGNAL = 128
"""What a shell adds to a signal's number to say it as an exit code."""


class Group:
    """The processes of one training. One that ends badly takes the others with it: they would wait for it forever."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, command: Sequence[str]) -> None:
        """Add one process."""
        self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))

    def stop(self) -> None:
        """Ask all that run to save and end."""
        for process in self._processes:
            process.terminate()

    def wait(self) -> int:
        """The exit code of the whole once all have ended."""
        codes = set()
        for _ in self._processes:
            codes.add(self._next_code())
            if codes - {0, EXIT_STOPPED}:
                return self._end_after_failure()
        return max(codes)

    def _next_code(self) -> int:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        assert ended is not None, "only WNOHANG gives None"
        return next(process.wait() for process in self._processes if process.pid == ended.si_pid)

    def _end_after_failure(self) -> int:
        """Kill what still runs. The others fail too once one is gone, so a process that was killed is named first."""
        failed = {rank: code for rank, process in enumerate(self._processes) if (code := process.poll())}
        for process in self._processes:
            process.kill()
            process.wait()
        rank, code = min(failed.items(), key=lambda item: (item[1] > 0, item[0]))
        if code > 0:
            return code
        error = TrainingFailed(
            f"training process {rank + 1} of {len(self._processes)}",
            expected="to live until the last step",
            found=f"it was ended by {signal.Signals(-code).name}",
            do="run it again; it goes on from the last checkpoint",
        )
        (self._directory / FAILURE_FILE).write_text(f"{error}\n", encoding="utf-8")
        return _OF_A_SIGNAL - code


def main(arguments: Sequence[str]) -> int:
    """Run the job named on the command line in as many processes as its recipe says; the exit code."""
    parser = argparse.ArgumentParser(prog="megacpp_assets.training.processes.group")
    parser.add_argument("--job", type=Path, required=True)
    parser.add_argument("--owner", type=Owner.parse)
    parser.add_argument("--node", type=Node.parse, default=Node())
    told = parser.parse_args(arguments)
    job_file: Path = told.job
    group = Group(job_file.parent)
    stop = StopRequest()
    stop.install(then=group.stop)
    die_with_parent()
    if told.owner is not None:
        die_with(told.owner)
    job = Job.from_bytes(job_file.read_bytes())
    (job_file.parent / STORE_FOLDER).mkdir(mode=0o700)
    tie = ["--parent", str(os.getpid()), *told.node.arguments()]
    for rank in told.node.ranks(job.recipe.processes):
        group.start([sys.executable, "-m", _TRAINER, "--job", str(job_file), "--rank", str(rank), *tie])
    if stop.asked:  # perhaps before the last of them was there
        group.stop()
    return group.wait()


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
