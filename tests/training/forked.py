"""Several ranks of a training, forked from the test: they need not load torch again."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.training.job import STORE_FOLDER
from megacpp_assets.training.loop import train
from megacpp_assets.training.processes.node import NodeRank
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks, join_ranks
from megacpp_assets.training.spec import TrainedCheckpointSpec
from tests.forks import forked

STOPPED = 75


def train_forked(spec: TrainedCheckpointSpec, stop_after: int | None = None, nodes: int = 1) -> list[int]:
    """The exit code of each rank of the recipe's `processes`: 0 finished, 75 stopped after that step, 1 failed."""

    def body(ranks: Ranks, folder: Path) -> int:
        stop = StopRequest()

        def report(metrics: object) -> None:
            stop.asked = stop.asked or getattr(metrics, "step", 0) == stop_after

        return 0 if train(spec, ranks, stop, live_metrics=folder / "live.jsonl", report=report) else STOPPED

    return fork_ranks(spec.recipe, body, nodes)


def fork_ranks(recipe: TrainingRecipe, body: Callable[[Ranks, Path], int], nodes: int = 1) -> list[int]:
    """What `body` gives on each of the recipe's ranks; minus the number of the signal that ended one."""
    # Once for all that are forked: 2.5 CPU seconds each. Not with this module, which every worker imports.
    import torch._dynamo
    import torch.distributed.fsdp  # noqa: F401

    world = recipe.processes
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / STORE_FOLDER).mkdir()
        children = [
            _fork(rank, recipe, body, NodeRank(rank * nodes // world, nodes), Path(folder)) for rank in range(world)
        ]
        codes: dict[int, int] = {}
        try:
            while len(codes) < world:
                pid, status = os.wait()
                codes[pid] = os.waitstatus_to_exitcode(status)
                if codes[pid] not in (0, STOPPED):
                    break
        finally:
            for pid in set(children) - set(codes):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        return [codes.get(pid, -signal.SIGKILL) for pid in children]


def _fork(rank: int, recipe: TrainingRecipe, body: Callable[[Ranks, Path], int], node: NodeRank, folder: Path) -> int:

    def joined() -> int:
        # A fork has no OpenMP threads. If an earlier test had started some, a parallel operation would wait for them.
        torch.set_num_threads(1)
        with join_ranks(rank, recipe, folder, node) as ranks:
            return body(ranks, folder)

    return forked(joined)
