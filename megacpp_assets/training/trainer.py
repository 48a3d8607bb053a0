"""One training process. It reads the job file, arranges to end with its launcher, and trains. It prints nothing.

Exit codes: 0 the last checkpoint is published, 75 stopped by a signal after saving, 76 a process of another node ended,
1 failed. The failure file has the reason for any other code than 0. The first process that fails writes it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.compute.gc_disabled import search_for_cycles_rarely
from megacpp_assets.compute.lifetime import die_with_parent
from megacpp_assets.contract.errors import MegacppError, TrainingFailed
from megacpp_assets.training.job import FAILURE_FILE, LIVE_METRICS_FILE, TrainingJob
from megacpp_assets.training.processes.node import EXIT_PEER_LOST, NodeRank
from megacpp_assets.training.processes.numerics import numerics
from megacpp_assets.training.processes.process import EXIT_STOPPED, Owner, StopRequest, die_with, leave

_LONGEST_REASON = 500
_PEER_LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "Connection refused")
"""Parts of gloo's error messages when another process has ended."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parsed command line.

    `job_file` has a `TrainingJob`. `rank` counts from 0 over all nodes. `parent` is the process that started
    this one, if known. This process is killed when `parent` or `owner` ends.
    """

    job_file: Path
    rank: int
    parent: int | None
    owner: Owner | None
    node: NodeRank

    @staticmethod
    def parse(arguments: Sequence[str]) -> Arguments:
        """Read a command line."""
        parser = argparse.ArgumentParser(prog="megacpp_assets.training.trainer")
        parser.add_argument("--job", type=Path, required=True)
        parser.add_argument("--rank", type=int, default=0)
        parser.add_argument("--node", type=NodeRank.parse, default=NodeRank())
        parser.add_argument("--parent", type=int)
        parser.add_argument("--owner", type=Owner.parse)
        parsed = parser.parse_args(arguments)
        return Arguments(parsed.job, parsed.rank, parsed.parent, parsed.owner, parsed.node)

    @property
    def directory(self) -> Path:
        """The folder for the metrics and the failure file."""
        return self.job_file.parent


def main(arguments: Sequence[str]) -> int:
    """Run the job named on the command line; return the exit code."""
    parsed = Arguments.parse(arguments)
    stop = StopRequest()
    stop.install()
    try:
        die_with_parent(parsed.parent)
        if parsed.owner is not None:
            die_with(parsed.owner)
        job = TrainingJob.from_bytes(parsed.job_file.read_bytes())
        finished = _train(job, stop, parsed)
    except MegacppError as error:
        _record_failure(parsed.directory, error)
        return 1
    except Exception as error:
        _record_failure(parsed.directory, _unexpected(error))
        if parsed.node.count > 1 and any(message in str(error) for message in _PEER_LOST):
            return EXIT_PEER_LOST
        raise
    if finished:
        return 0
    _record_failure(parsed.directory, _stopped(job))
    return EXIT_STOPPED


def _record_failure(directory: Path, error: MegacppError) -> None:
    """Write the failure file, unless another process has written it: later failures only follow from the first."""
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


def _stopped(job: TrainingJob) -> TrainingFailed:
    return TrainingFailed(
        f"training of {job.mixture.key}",
        expected="to reach its last step",
        found="a request to stop; the step that it reached is saved",
        do="run it again",
    )


def _train(job: TrainingJob, stop: StopRequest, parsed: Arguments) -> bool:
    recipe = job.recipe
    os.environ.update(numerics(recipe.threads, recipe.instruction_set))
    # torch is imported only now: this process must end with its launcher from the start, and torch reads the settings.
    from megacpp_assets.training.loop import train  # noqa: PLC0415
    from megacpp_assets.training.processes.ranks import join_ranks  # noqa: PLC0415

    spec = job.spec()
    with join_ranks(parsed.rank, recipe, parsed.directory, parsed.node) as ranks:
        return train(spec, ranks, stop, live_metrics=parsed.directory / LIVE_METRICS_FILE)


if __name__ == "__main__":
    search_for_cycles_rarely()
    leave(main(sys.argv[1:]))
