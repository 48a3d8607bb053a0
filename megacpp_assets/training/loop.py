"""The training loop: verified inputs go in, checkpoints are published. Every rank runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.loader.rows import PackedRows, open_rows
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.training.batches import StepBatches, TrainingFiles, step_batches
from megacpp_assets.training.checkpoints.checkpoint import (
    RunState,
    Snapshot,
    load_weights,
    restore,
    save,
    snapshot,
)
from megacpp_assets.training.checkpoints.record import StepMetrics, loss_fell, quarter_losses
from megacpp_assets.training.checkpoints.resume import (
    interim_checkpoints,
    newest_checkpoint,
    remove,
    resumed_from,
)
from megacpp_assets.training.checkpoints.saver import Saver
from megacpp_assets.training.inputs import DataIdentity, data_identity
from megacpp_assets.training.network.model import GPT, loss_weights
from megacpp_assets.training.network.size import model_config, require_memory
from megacpp_assets.training.optimizer import optimizer_for
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.processes.writers import Writers
from megacpp_assets.training.schedule import is_saved, learning_rate
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target, input_paths
from megacpp_assets.training.stepper import Stepper, stepper_for
from megacpp_assets.training.validation import ValidationRows, open_held_out, validate


@dataclass(frozen=True, slots=True)
class Run:
    """The values that stay the same in all steps. `inputs` are in the order of `input_paths`."""

    spec: TrainedCheckpointSpec
    ranks: Ranks
    inputs: tuple[Artifact, ...]
    rows: PackedRows
    batches: StepBatches
    data: DataIdentity
    held_out: ValidationRows | None
    saver: Saver


INDEX_MAPS_FOLDER: Final = "index_maps"
"""A folder next to the live metrics, where megatron-core caches the order of samples."""
_LEAST_WEIGHT = 1e-6
"""The least divisor of a summed loss: a batch whose tokens all have the weight 0 has the mean loss 0."""

Report = Callable[[StepMetrics], None]


def _no_report(metrics: StepMetrics) -> None:
    """Ignore the metrics."""


def train(
    spec: TrainedCheckpointSpec, ranks: Ranks, stop: StopRequest, *, live_metrics: Path, report: Report = _no_report
) -> bool:
    """Train from the newest valid checkpoint, or from the start, to the last step. Call `report` after each step.

    Returns False if `stop` ended the run early; the step that it reached is then saved.

    Raises:
        LineageGap: an input changed since it was published.
        CheckFailed: the loss did not fall. It is raised before the last checkpoint is published.
    """
    with Saver() as saver:
        run = _open(spec, ranks, saver, live_metrics.parent / INDEX_MAPS_FOLDER)
        state = _start(run)
        with _append(live_metrics, ranks) as write:
            for done in state.metrics:
                write(done)

            def write_and_report(done: StepMetrics) -> None:
                write(done)
                report(done)

            finished = _steps(run, state, stop, write_and_report)
    ranks.barrier()
    return finished


def _steps(run: Run, state: RunState, stop: StopRequest, report: Report) -> bool:
    """Run all remaining steps. Return False if `stop` was requested before the last one."""
    recipe, ranks = run.spec.recipe, run.ranks
    stepper = stepper_for(recipe, state.model, state.optimizer, ranks)
    while state.step < recipe.steps:
        done = _step(run, state, stepper)
        run.saver.check()
        state.metrics.append(done)
        report(done)
        stopped = bool(ranks.sum(torch.tensor(int(stop.asked), device=ranks.device)))
        if stopped or is_saved(recipe, state.step):
            stepper.bring_home()
            _save(run, state)
        if stopped and state.step < recipe.steps:
            return False
    return True


def configure_torch(recipe: TrainingRecipe) -> None:
    """Set threads, seed and deterministic algorithms, so that the same recipe gives the same bits."""
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(recipe.seed)
    # Not `use_deterministic_algorithms`, which sets the same flag and then imports the compiler (2 s a process).
    torch.set_deterministic_debug_mode("error")
    # Else each new tensor is filled before it is written, which takes 6 % of a step on a CPU.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def _open(spec: TrainedCheckpointSpec, ranks: Ranks, saver: Saver, index_maps: Path) -> Run:
    """Open the inputs. The first rank of each node verifies their bytes; the other ranks rely on its record of that.

    The Megatron reader stores index maps in the folder `index_maps`.
    """
    if ranks.first_here:
        for path in input_paths(spec):
            open_artifact(spec.root, path).verify()
    ranks.barrier()
    inputs = tuple(open_artifact(spec.root, path) for path in input_paths(spec))
    megatron, tokenizer = inputs[:2]
    data = data_identity(megatron, tokenizer, spec.files_dataset)
    chunks, platforms = spec.recipe.needs_chunks, spec.recipe.platform_embedding
    most = spec.recipe.validation_rows
    held_out = open_held_out(megatron, tokenizer, spec.files_dataset, most, chunks=chunks, platforms=platforms)
    rows = open_rows(megatron, spec.files_dataset, chunks=chunks, platforms=platforms)
    prefix = megatron.directory / files.prefix_name(spec.files_dataset, TRAIN_SPLIT)
    read = TrainingFiles(rows, prefix, tokenizer.directory, data.vocabulary_size, index_maps)
    batches = step_batches(read, spec.recipe, ranks)
    return Run(spec, ranks, inputs, rows, batches, data, held_out, saver)


def _start(run: Run) -> RunState:
    """Return the state of the newest checkpoint.

    Without one, start from the previous phase's weights or from the seed.
    """
    recipe, ranks = run.spec.recipe, run.ranks
    configure_torch(recipe)
    config = model_config(recipe, run.data.vocabulary_size, run.rows.row_tokens)
    parts, nodes = (ranks.world, ranks.writers.nodes) if ranks.sharded and ranks.writers else (1, 1)
    require_memory(config, ranks.device, recipe.processes, parts, nodes)
    # Made on the CPU and then moved, so that the seed means the same on every device.
    model = GPT(config).to(ranks.device)
    ranks.share(model, model.blocks, "token_losses")
    optimizer = optimizer_for(recipe, dict(model.named_parameters()))
    checkpoint = _newest(run)
    if checkpoint is not None:
        metrics = restore(checkpoint, model, optimizer)
        return RunState(model, optimizer, metrics, resumed_from(run.spec, checkpoint))
    if run.spec.start is not None:
        load_weights(run.inputs[-1], model)
    return RunState(model, optimizer, [])


def _newest(run: Run) -> Artifact | None:
    """Return the newest valid checkpoint on every rank. The first rank finds it and removes newer damaged ones."""
    checkpoint, damaged = newest_checkpoint(run.spec) if run.ranks.rank == 0 else (None, [])
    remove(damaged)
    step = torch.tensor(int(checkpoint.manifest.stats["steps"]) if checkpoint else 0, device=run.ranks.device)
    found = int(run.ranks.sum(step))
    return open_artifact(run.spec.root, checkpoint_target(run.spec, found).path) if found else None


def _step(run: Run, state: RunState, stepper: Stepper) -> StepMetrics:
    """Run one optimizer step over the global batch, of which each rank has a share."""
    recipe, ranks = run.spec.recipe, run.ranks
    batches = run.batches.of(state.step)
    tokens = int(ranks.sum(_total(batch.loss_mask for batch in batches).to(ranks.device)))
    weight = float(ranks.sum(_total(loss_weights(batch, recipe.context_loss) for batch in batches).to(ranks.device)))
    weight = max(_LEAST_WEIGHT, weight)
    mean = stepper.step(batches, weight, learning_rate(recipe, state.step)) / weight
    if not math.isfinite(mean):
        raise CheckFailed(
            f"loss of step {state.step + 1}",
            expected="a finite number",
            found=mean,
            do="lower training.learning_rate, and run again",
        )
    return StepMetrics(state.step + 1, mean, tokens)


def _total(columns: Iterable[NDArray[np.generic]]) -> Tensor:
    """Return the sum of all values, in float64."""
    return torch.tensor(sum(float(column.sum(dtype=np.float64)) for column in columns), dtype=torch.float64)


def _save(run: Run, state: RunState) -> None:
    """Start to publish this step in the saver's thread. The next step does not wait for it."""
    recipe, writers = run.spec.recipe, run.ranks.writers
    losses = [metrics.loss for metrics in state.metrics]
    if state.step == recipe.steps and not loss_fell(losses):
        first, last = quarter_losses(losses)
        raise CheckFailed(
            f"training of {run.spec.mixture.key}",
            expected=f"a mean loss below {first:.4f}",
            found=last,
            do="train more steps (training.steps), or change training.learning_rate",
        )
    measured: Mapping[str, Any] = {}
    # After a request to stop there are only seconds. A checkpoint off the schedule is only resumed from and removed
    # later, so it is not measured.
    if run.held_out is not None and is_saved(recipe, state.step):
        measured = validate(state.model, run.held_out, run.ranks).as_stats()
    run.saver.wait()  # before the copy is made, so that memory holds at most one copy of the state
    if writers is not None:
        copied = snapshot(state)
        run.saver.save(lambda: _publish(run, copied, measured, writers))


def _publish(run: Run, state: Snapshot, measured: Mapping[str, Any], writers: Writers) -> None:
    save(run.spec, state, run.data, run.inputs, measured=measured, writers=writers)
    if run.ranks.rank == 0 and state.step == run.spec.recipe.steps:
        remove(interim_checkpoints(run.spec))  # only now: a run that is killed earlier resumes from one of them


@contextmanager
def _append(live_metrics: Path, ranks: Ranks) -> Iterator[Callable[[StepMetrics], None]]:
    """Yield a function that writes a step's line to the live file on rank 0, and does nothing on other ranks."""
    if ranks.rank != 0:
        yield lambda metrics: None
        return
    with live_metrics.open("w", encoding="utf-8", buffering=1) as file:

        def write(metrics: StepMetrics) -> None:
            file.write(metrics.to_line())

        yield write
