"""The run itself: from verified inputs to the final checkpoint, through every saved step. Every rank runs this."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, open_rows
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.training.checkpoints.checkpoint import RunState, load_weights, restore, save
from megacpp_assets.training.checkpoints.record import DataIdentity, StepMetrics, loss_fell, quarter_losses
from megacpp_assets.training.checkpoints.resume import interim_checkpoints, newest_checkpoint, remove
from megacpp_assets.training.inputs import data_identity
from megacpp_assets.training.network.model import GPT, loss_weights, model_input
from megacpp_assets.training.network.size import model_config, require_memory
from megacpp_assets.training.optimizer import optimizer_for
from megacpp_assets.training.process import StopRequest
from megacpp_assets.training.ranks import Ranks
from megacpp_assets.training.schedule import is_saved, learning_rate
from megacpp_assets.training.spec import TrainedCheckpointSpec, data_paths
from megacpp_assets.training.validation import HeldOut, open_held_out, validate


@dataclass(frozen=True, slots=True)
class Run:
    """What stays the same from the first step to the last."""

    spec: TrainedCheckpointSpec
    ranks: Ranks
    rows: PackedRows
    data: DataIdentity
    held_out: HeldOut | None


_LEAST_WEIGHT = 1e-6
"""Of a batch all of whose tokens weigh nothing, the mean loss is 0."""

Report = Callable[[StepMetrics], None]


def _unheard(metrics: StepMetrics) -> None:
    """Nobody listens."""


def train(
    spec: TrainedCheckpointSpec, ranks: Ranks, stop: StopRequest, *, live_metrics: Path, report: Report = _unheard
) -> bool:
    """Train from the newest good checkpoint, or from the seed, to the last step; `report` hears each step.

    False if `stop` was asked for: the step reached is saved. Raises `LineageGap` if an input changed since it was
    published, and `CheckFailed`, before the last checkpoint is published, if the loss did not fall.
    """
    run = _open(spec, ranks)
    state = _start(run)
    network = ranks.parallel(state.model)
    if spec.recipe.compiled:
        network = cast(torch.nn.Module, torch.compile(network, dynamic=False))
    with _append(live_metrics, ranks) as write:
        for done in state.metrics:
            write(done)
        while state.step < spec.recipe.steps:
            done = _step(run, state, network)
            state.metrics.append(done)
            write(done)
            report(done)
            stopped = bool(ranks.sum(torch.tensor(int(stop.asked), device=ranks.device)))
            if stopped or is_saved(spec.recipe, state.step):
                _save(run, state)
            if stopped and state.step < spec.recipe.steps:
                return False
    return True


def configure_torch(recipe: TrainingRecipe) -> None:
    """Fixed threads and seed, deterministic algorithms: the same recipe gives the same bits."""
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(recipe.seed)
    # Not `use_deterministic_algorithms`, which sets the same flag and then imports the compiler (2 s a process).
    torch.set_deterministic_debug_mode("error")


def _open(spec: TrainedCheckpointSpec, ranks: Ranks) -> Run:
    """The inputs, their bytes compared with their manifests."""
    megatron, tokenizer = (open_artifact(spec.root, path).verify() for path in data_paths(spec))
    data = data_identity(megatron, tokenizer, spec.files_dataset)
    chunks = spec.recipe.needs_chunks
    held_out = open_held_out(megatron, tokenizer, spec.files_dataset, spec.recipe.validation_rows, chunks=chunks)
    return Run(spec, ranks, open_rows(megatron, spec.files_dataset, chunks=chunks), data, held_out)


def _start(run: Run) -> RunState:
    """The newest checkpoint; without one, the weights that the phase before ended with, or those of the seed."""
    recipe = run.spec.recipe
    configure_torch(recipe)
    config = model_config(recipe, run.data.vocabulary_size, run.rows.row_tokens)
    require_memory(config, run.ranks.device, recipe.processes)
    # Made on the CPU and then moved, so that the seed means the same on every device.
    model = GPT(config).to(run.ranks.device)
    optimizer = optimizer_for(recipe, dict(model.named_parameters()))
    checkpoint, damaged = newest_checkpoint(run.spec)
    metrics = restore(checkpoint, model, optimizer) if checkpoint else []
    if checkpoint is None and run.spec.start is not None:
        load_weights(open_artifact(run.spec.root, run.spec.start).verify(), model)
    run.ranks.barrier()
    if run.ranks.rank == 0:
        remove(damaged)
    return RunState(model, optimizer, metrics)


def _step(run: Run, state: RunState, network: torch.nn.Module) -> StepMetrics:
    """One optimiser step over the global batch; each rank takes every world-th row of it."""
    recipe, ranks = run.spec.recipe, run.ranks
    rows = rows_of_step(len(run.rows), recipe.batch_rows, seed=recipe.seed, step=state.step)
    batches = [run.rows.batch(part) for part in np.split(rows[ranks.rank :: ranks.world], recipe.accumulate)]
    tokens = int(ranks.sum(_total(batch.loss_mask for batch in batches).to(ranks.device)))
    weight = float(ranks.sum(_total(loss_weights(batch, recipe.context_loss) for batch in batches).to(ranks.device)))
    loss = torch.zeros((), device=ranks.device)
    for part, batch in enumerate(batches):
        given = model_input(batch, ranks.device, recipe.context_loss, recipe.softcap, one_graph=recipe.compiled)
        with ranks.summing_later(network) if part + 1 < len(batches) else nullcontext():
            paid = network(given)
            # Ranks average their gradients: times world, the weighed mean over all tokens of the global batch.
            (paid * (ranks.world / max(_LEAST_WEIGHT, weight))).backward()
        loss += paid.detach()
    torch.nn.utils.clip_grad_norm_(state.model.parameters(), recipe.gradient_clip)
    state.optimizer.step(learning_rate(recipe, state.step))
    state.optimizer.clear()
    mean = float(ranks.sum(loss)) / max(_LEAST_WEIGHT, weight)
    if not math.isfinite(mean):
        raise CheckFailed(f"loss of step {state.step + 1}", expected="a finite number", found=mean)
    return StepMetrics(state.step + 1, mean, tokens)


def _total(columns: Iterable[NDArray[np.generic]]) -> Tensor:
    """The sum of all values, in float64."""
    return torch.tensor(sum(float(column.sum(dtype=np.float64)) for column in columns), dtype=torch.float64)


def _save(run: Run, state: RunState) -> None:
    """Publish this step, from rank 0 while the others wait."""
    recipe = run.spec.recipe
    losses = [metrics.loss for metrics in state.metrics]
    if state.step == recipe.steps and not loss_fell(losses):
        first, last = quarter_losses(losses)
        raise CheckFailed(f"training of {run.spec.mixture.key}", expected=f"a mean loss below {first:.4f}", found=last)
    measured = {}
    # A request to stop has seconds: what it saves off the schedule is gone on from and removed, and is not measured.
    if run.held_out is not None and is_saved(recipe, state.step):
        measured = validate(state.model, run.held_out, run.ranks).as_stats()
    if run.ranks.rank == 0:
        if state.step == recipe.steps:
            remove(interim_checkpoints(run.spec))
        save(run.spec, state, run.data, measured)
    run.ranks.barrier()


@contextmanager
def _append(live_metrics: Path, ranks: Ranks) -> Iterator[Callable[[StepMetrics], None]]:
    """A function that adds a step's line to the live file, from rank 0."""
    if ranks.rank != 0:
        yield lambda metrics: None
        return
    with live_metrics.open("w", encoding="utf-8", buffering=1) as file:

        def write(metrics: StepMetrics) -> None:
            file.write(metrics.to_line())

        yield write
