"""Saves and restores a run. Only safetensors are written, so nothing is executed when they are read. Equal runs give
equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, publish
from megacpp_assets.training.checkpoints.record import (
    CONFIG_FILE,
    INDEX_FILE,
    METRICS_FILE,
    MODEL,
    OPTIMIZER,
    CheckpointConfig,
    StepMetrics,
    read_metrics,
    shard_file,
)
from megacpp_assets.training.checkpoints.shards import Shards, index_bytes, index_of
from megacpp_assets.training.checkpoints.tensor_file import save_tensors
from megacpp_assets.training.inputs import DataIdentity
from megacpp_assets.training.network.model import GPT, ModelConfig
from megacpp_assets.training.optimizer import Optimizer
from megacpp_assets.training.processes.writers import Writers
from megacpp_assets.training.sharding import first_row, local
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target

_ADDED: Final = ("relation_bias.", "graph.")
"""Prefixes of the parameters that only a structure-aware model has."""
_CHANNELS: Final = "structure.table"
_SCALES: Final = "structure.scale"
"""The table has a vector for each value of each channel, the scales a number for each channel, both in the canonical
order of channels. So a model with further channels has further rows at the end.
"""


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run between two steps: tensors that change in place, and the metrics of all steps so far.

    `resumed` names the checkpoints of runs on other processes that this run resumed from, oldest first.
    """

    model: GPT
    optimizer: Optimizer
    metrics: list[StepMetrics]
    resumed: Sequence[Mapping[str, Any]] = ()

    @property
    def step(self) -> int:
        """The number of completed steps."""
        return len(self.metrics)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a run's state after a step, in the CPU's memory: this process's part of each kind of tensors.

    Later steps do not change it. `parameters` counts those of all processes.
    """

    model: ModelConfig
    tensors: Mapping[str, Mapping[str, Tensor]]
    parameters: int
    metrics: Sequence[StepMetrics]
    resumed: Sequence[Mapping[str, Any]]

    @property
    def step(self) -> int:
        """The number of completed steps."""
        return len(self.metrics)


def snapshot(state: RunState) -> Snapshot:
    """Copy `state`; of a sharded model, this process's part."""
    weights = state.model.state_dict()
    tensors = {MODEL: _copies(weights), OPTIMIZER: _copies(state.optimizer.state())}
    parameters = sum(tensor.numel() for tensor in weights.values())
    return Snapshot(state.model.config, tensors, parameters, tuple(state.metrics), state.resumed)


def save(
    spec: TrainedCheckpointSpec,
    state: Snapshot,
    data: DataIdentity,
    inputs: tuple[Artifact, ...],
    *,
    measured: Mapping[str, Any],
    writers: Writers,
) -> None:
    """Publish the checkpoint of this step with the figures `measured`, unless it exists.

    Each writer calls this and writes its shard; the first one seals them. `inputs` are those of `spec`. They were
    verified when the run began and are not read again.
    """
    target = checkpoint_target(spec, state.step)
    files = {shard_file(kind, writers.rank): partial(_fill, state, kind) for kind in state.tensors}
    if writers.rank > 0:
        if writers.agree():
            writers.write(target.root / target.path, files)
        return
    begun = False

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        nonlocal begun
        del inputs
        begun = writers.agree(wanted=True)
        publication.entries += writers.write(publication.directory, files)
        publication.write(INDEX_FILE, index_bytes(index_of(publication.directory, writers.count)))
        publication.write(CONFIG_FILE, _config(spec, state, data).to_bytes())
        lines = "".join(metrics.to_line() for metrics in state.metrics)
        publication.write(METRICS_FILE, lines.encode(), rows=state.step)
        return {
            "steps": state.step,
            "tokens": sum(metrics.tokens for metrics in state.metrics),
            "parameters": state.parameters,
            **({"resumed": list(state.resumed)} if state.resumed else {}),
            **measured,
        }

    publish(target, produce, inputs)
    if not begun:
        writers.agree(wanted=False)


def _fill(state: Snapshot, kind: str, path: Path) -> None:
    # Only one metadata key: safetensors writes several in no fixed order.
    save_tensors(dict(state.tensors[kind]), path, {"step": str(state.step)})


def restore(checkpoint: Artifact, model: GPT, optimizer: Optimizer) -> list[StepMetrics]:
    """Load a verified checkpoint into this process's part of `model` and `optimizer`, in place; return the metrics
    of its steps.

    It may have been written by any number of processes. Shards that this process does not need are not read. Raises
    `LineageGap` if the tensors are not exactly those of the model.
    """
    metrics = read_metrics(checkpoint)
    shards = Shards(checkpoint)
    _copy(shards, MODEL, model.state_dict())
    _copy(shards, OPTIMIZER, optimizer.state())
    optimizer.steps = len(metrics)
    return metrics


def load_weights(checkpoint: Artifact, model: GPT) -> None:
    """Load the weights of a verified checkpoint into `model`, in place.

    The model may be structure-aware where the checkpoint's is not: its relation bias and messages keep their initial
    values, which add nothing, and further channels have the scale 0 until they are trained. Raises `LineageGap` if the
    weights belong to another model.
    """
    shards, into = Shards(checkpoint), model.state_dict()
    found = shards.tensors(MODEL)
    into = {name: each for name, each in into.items() if name in found or not name.startswith(_ADDED)}
    _copy(shards, MODEL, into, grows=(_CHANNELS, _SCALES))


@torch.no_grad()
def _copy(shards: Shards, kind: str, into: Mapping[str, Tensor], grows: Sequence[str] = ()) -> None:
    """Copy tensors. Those of `grows` may have more rows than in the checkpoint; further rows of the scales become 0."""
    found = {name: tuple(whole.shape) for name, whole in shards.tensors(kind).items()}
    fits = found.keys() == into.keys() and all(
        found[name] == tuple(each.shape) or (name in grows and _is_prefix(found[name], tuple(each.shape)))
        for name, each in into.items()
    )
    if not fits:
        raise LineageGap(f"{shards.path}: {kind}", expected="the tensors of this model", found="others")
    for name, tensor in into.items():
        mine, first, row = local(tensor), first_row(tensor), 0
        for piece in shards.pieces(kind, name, first, first + len(mine)):
            mine[row : row + len(piece)].copy_(piece)
            row += len(piece)
        if name == _SCALES:
            mine[row:] = 0


def _is_prefix(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return found[0] <= wanted[0] and found[1:] == wanted[1:]


def _config(spec: TrainedCheckpointSpec, state: Snapshot, data: DataIdentity) -> CheckpointConfig:
    return CheckpointConfig(
        dataset=spec.files_dataset,
        mixture=spec.mixture.key,
        step=state.step,
        recipe=as_config(spec.recipe),
        model=asdict(state.model),
        data=data,
        torch=torch.__version__.partition("+")[0],
    )


def _copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    mine = {name: local(tensor.detach()) for name, tensor in tensors.items()}
    return {
        name: part.to("cpu", copy=True, memory_format=torch.contiguous_format)
        for name, part in mine.items()
        if len(part) > 0
    }
