"""Starts several training processes on this node together and ends them together.

This module is the command of a job that has more than one process on a node. Its exit code is that of the first process
that failed, else 75 if the processes were stopped, else 0.
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
from megacpp_assets.training.job import FAILURE_FILE, STORE_FOLDER, TrainingJob
from megacpp_assets.training.processes.node import NodeRank
from megacpp_assets.training.processes.process import EXIT_STOPPED, Owner, StopRequest, die_with, leave

_TRAINER = "megacpp_assets.training.trainer"
_OF_A_SIGNAL = 128
"""A shell adds this to the number of a signal to form an exit code."""


class ProcessGroup:
    """The processes of one training. If one fails, the others are killed: they would wait for it forever."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, command: Sequence[str]) -> None:
        """Start one more process."""
        self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))

    def stop(self) -> None:
        """Ask all processes to save and end."""
        for process in self._processes:
            process.terminate()

    def wait(self) -> int:
        """Wait until all processes have ended; return the exit code of the group."""
        codes = set()
        for _ in self._processes:
            codes.add(self._next_code())
            if codes - {0, EXIT_STOPPED}:
                return self._end_after_failure()
        return max(codes)

    def _next_code(self) -> int:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        assert ended is not None, "waitid returns None only with WNOHANG"
        return next(process.wait() for process in self._processes if process.pid == ended.si_pid)

    def _end_after_failure(self) -> int:
        """Kill the remaining processes, record the failure and return its exit code.

        When one process is killed by a signal, the others fail after it. So a process that was killed is named first.
        """
        failed = {rank: code for rank, process in enumerate(self._processes) if (code := process.poll())}
        for process in self._processes:
            process.kill()
            process.wait()
        rank, code = min(failed.items(), key=lambda item: (item[1] > 0, item[0]))
        if code > 0:
            return code
        error = TrainingFailed(
            f"training process {rank + 1} of {len(self._processes)}",
            expected="to run until the last step",
            found=f"it was ended by {signal.Signals(-code).name}",
            do="run it again; it resumes from the last checkpoint",
        )
        (self._directory / FAILURE_FILE).write_text(f"{error}\n", encoding="utf-8")
        return _OF_A_SIGNAL - code


def main(arguments: Sequence[str]) -> int:
    """Run the job named on the command line, in this node's share of the recipe's processes; return the exit code."""
    parser = argparse.ArgumentParser(prog="megacpp_assets.training.processes.group")
    parser.add_argument("--job", type=Path, required=True)
    parser.add_argument("--owner", type=Owner.parse)
    parser.add_argument("--node", type=NodeRank.parse, default=NodeRank())
    parsed = parser.parse_args(arguments)
    job_file: Path = parsed.job
    group = ProcessGroup(job_file.parent)
    stop = StopRequest()
    stop.install(then=group.stop)
    die_with_parent()
    if parsed.owner is not None:
        die_with(parsed.owner)
    job = TrainingJob.from_bytes(job_file.read_bytes())
    (job_file.parent / STORE_FOLDER).mkdir(mode=0o700)
    shared = ["--parent", str(os.getpid()), *parsed.node.arguments()]
    for rank in parsed.node.ranks(job.recipe.processes):
        group.start([sys.executable, "-m", _TRAINER, "--job", str(job_file), "--rank", str(rank), *shared])
    if stop.asked:  # a request during the loop did not reach the processes that started after it
        group.stop()
    return group.wait()


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
