"""One training process: reads the job file, ties itself to its launcher, trains.

Prints nothing. Exit codes: 0 the last checkpoint is published, 75 stopped by a signal after saving, 76 a process of
another node has gone, 1 failed. The reason for any but 0 is in the failure file, of several processes the first one's.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.compute.lifetime import die_with_parent
from megacpp_assets.contract.errors import MegacppError, TrainingFailed
from megacpp_assets.training.job import FAILURE_FILE, LIVE_METRICS_FILE, Job
from megacpp_assets.training.processes.node import EXIT_DESERTED, Node
from megacpp_assets.training.processes.process import EXIT_STOPPED, Owner, StopRequest, die_with, leave

_LONGEST_REASON = 500
_DESERTED = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "Connection refused")
"""What gloo says of a process that has gone."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """`job_file` has a `Job`, `rank` counts from 0 over all nodes, `parent` is who started this process if known, and
    without `owner` there is no reason to go on."""

    job_file: Path
    rank: int
    parent: int | None
    owner: Owner | None
    node: Node

    @staticmethod
    def parse(arguments: Sequence[str]) -> Arguments:
        """Read a command line."""
        parser = argparse.ArgumentParser(prog="megacpp_assets.training.trainer")
        parser.add_argument("--job", type=Path, required=True)
        parser.add_argument("--rank", type=int, default=0)
        parser.add_argument("--node", type=Node.parse, default=Node())
        parser.add_argument("--parent", type=int)
        parser.add_argument("--owner", type=Owner.parse)
        parsed = parser.parse_args(arguments)
        return Arguments(parsed.job, parsed.rank, parsed.parent, parsed.owner, parsed.node)

    @property
    def directory(self) -> Path:
        """Where the process writes its metrics and its reason."""
        return self.job_file.parent


def main(arguments: Sequence[str]) -> int:
    """Run the job named on the command line; the exit code."""
    told = Arguments.parse(arguments)
    stop = StopRequest()
    stop.install()
    try:
        die_with_parent(told.parent)
        if told.owner is not None:
            die_with(told.owner)
        job = Job.from_bytes(told.job_file.read_bytes())
        finished = _train(job, stop, told)
    except MegacppError as error:
        _say_why(told.directory, error)
        return 1
    except Exception as error:
        _say_why(told.directory, _unexpected(error))
        if told.node.count > 1 and any(sign in str(error) for sign in _DESERTED):
            return EXIT_DESERTED
        raise
    if finished:
        return 0
    _say_why(told.directory, _stopped(job))
    return EXIT_STOPPED


def _say_why(directory: Path, error: MegacppError) -> None:
    """Write the failure file, unless another process was first: what follows a failure is not its reason."""
    with suppress(FileExistsError), (directory / FAILURE_FILE).open("x", encoding="utf-8") as file:
        file.write(f"{error}\n")


def _unexpected(error: Exception) -> TrainingFailed:
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return TrainingFailed(
        "training process",
        expected="to reach its last step",
        found=reason[:_LONGEST_REASON],
        do="read the whole error in the output of the process, then run it again",
    )


def _stopped(job: Job) -> TrainingFailed:
    return TrainingFailed(
        f"training of {job.mixture.key}",
        expected="to reach its last step",
        found="a request to stop; the step that it reached is saved",
        do="run it again",
    )


def numerics(threads: int) -> dict[str, str]:
    """Settings that decide the bits and are read when torch is loaded.

    One instruction set for every machine that has it: left alone, each library takes the widest that the processor
    offers, and a checkpoint made on one machine would not come out the same on another.
    """
    return {
        "OMP_NUM_THREADS": str(threads),
        # Waiting threads sleep: spinning ones cost three times the run on a machine that has other work.
        "OMP_WAIT_POLICY": "PASSIVE",
        "MKL_NUM_THREADS": str(threads),
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    }


def _train(job: Job, stop: StopRequest, told: Arguments) -> bool:
    recipe = job.recipe
    os.environ.update(numerics(recipe.threads))
    # torch is loaded here: after the ties to the launcher, which must hold from the start, and the settings it reads.
    from megacpp_assets.training.loop import train  # noqa: PLC0415
    from megacpp_assets.training.processes.ranks import join_ranks  # noqa: PLC0415

    spec = job.spec()
    with join_ranks(told.rank, recipe, told.directory, told.node) as ranks:
        return train(spec, ranks, stop, live_metrics=told.directory / LIVE_METRICS_FILE)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
