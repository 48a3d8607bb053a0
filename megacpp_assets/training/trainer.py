"""One training process, started by torchrun: reads the job file, ties itself to its launcher, trains.

Prints nothing. Exit codes: 0 the last checkpoint is published, 75 stopped by SIGTERM after saving, 1 failed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.training.job import FAILURE_FILE, LIVE_METRICS_FILE, Job
from megacpp_assets.training.process import EXIT_STOPPED, StopRequest, die_with, die_with_parent


def main(arguments: Sequence[str]) -> int:
    """Run the job named on the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="megacpp_assets.training.trainer")
    parser.add_argument("--job", type=Path, required=True)
    job_file: Path = parser.parse_args(arguments).job
    stop = StopRequest()
    stop.install()
    die_with_parent()
    try:
        job = Job.read(job_file)
        die_with(job.owner)
        return _train(job, stop, job_file.parent)
    except MegacppError as error:
        (job_file.parent / FAILURE_FILE).write_text(f"{error}\n", encoding="utf-8")
        return 1


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


def _train(job: Job, stop: StopRequest, directory: Path) -> int:
    recipe = job.spec.recipe
    os.environ.update(numerics(recipe.threads))
    # torch is loaded here: after the ties to the launcher, which must hold from the start, and the settings it reads.
    from megacpp_assets.training.loop import train  # noqa: PLC0415
    from megacpp_assets.training.pipes import reporting  # noqa: PLC0415
    from megacpp_assets.training.ranks import join_ranks  # noqa: PLC0415

    with join_ranks(recipe.device) as ranks, reporting(recipe.steps, ranks.rank) as report:
        finished = train(job.spec, ranks, stop, live_metrics=directory / LIVE_METRICS_FILE, report=report)
    return 0 if finished else EXIT_STOPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
