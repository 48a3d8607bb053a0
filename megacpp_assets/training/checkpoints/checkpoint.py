"""Saving and restoring a run: safetensors only, nothing that executes when read, equal runs give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, publish
from megacpp_assets.training.checkpoints.record import (
    CONFIG_FILE,
    METRICS_FILE,
    OPTIMIZER_FILE,
    WEIGHTS_FILE,
    CheckpointConfig,
    DataIdentity,
    StepMetrics,
    read_metrics,
)
from megacpp_assets.training.network.model import GPT, ModelConfig
from megacpp_assets.training.optimizer import Optimizer
from megacpp_assets.training.sharding import fill, whole
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target


@dataclass(frozen=True, slots=True)
class RunState:
    """A run between two steps: tensors that change in place, and the metrics of the steps so far, which grow.

    `resumed` names the checkpoints of other processes that the run went on from, oldest first.
    """

    model: GPT
    optimizer: Optimizer
    metrics: list[StepMetrics]
    resumed: Sequence[Mapping[str, Any]] = ()

    @property
    def step(self) -> int:
        """Steps done."""
        return len(self.metrics)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run as it was after a step: copies in the CPU's memory, which no later step changes."""

    model: ModelConfig
    weights: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]
    metrics: Sequence[StepMetrics]
    resumed: Sequence[Mapping[str, Any]]

    @property
    def step(self) -> int:
        """Steps done."""
        return len(self.metrics)


def snapshot(state: RunState, *, keep: bool = True) -> Snapshot:
    """Copy `state`. Of a sharded model every process must ask; one that does not `keep` it gives its parts only."""
    weights, optimizer = (
        _copies(tensors, keep=keep) for tensors in (state.model.state_dict(), state.optimizer.state())
    )
    return Snapshot(state.model.config, weights, optimizer, tuple(state.metrics), state.resumed)


def save(
    spec: TrainedCheckpointSpec,
    state: Snapshot,
    data: DataIdentity,
    inputs: tuple[Artifact, ...],
    measured: Mapping[str, Any] | None = None,
) -> Artifact:
    """Publish the checkpoint of this step with what was `measured` of it, or return it if it is there already.

    `inputs` are those of `spec`, verified when the run began: none of them is read again.
    """
    weights = state.weights

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        del inputs
        for name, tensors in ((WEIGHTS_FILE, weights), (OPTIMIZER_FILE, state.optimizer)):
            with publication.file(name) as pending:
                # One metadata key only: safetensors writes several in no fixed order.
                save_file(dict(tensors), pending.path, {"step": str(state.step)})
        publication.write(CONFIG_FILE, _config(spec, state, data).to_bytes())
        lines = "".join(metrics.to_line() for metrics in state.metrics)
        publication.write(METRICS_FILE, lines.encode(), rows=state.step)
        return {
            "steps": state.step,
            "tokens": sum(metrics.tokens for metrics in state.metrics),
            "parameters": sum(tensor.numel() for tensor in weights.values()),
            **({"resumed": list(state.resumed)} if state.resumed else {}),
            **(measured or {}),
        }

    return publish(checkpoint_target(spec, state.step), produce, inputs)


def restore(checkpoint: Artifact, model: GPT, optimizer: Optimizer) -> list[StepMetrics]:
    """Load a verified checkpoint into `model` and `optimizer`, in place; returns the metrics of its steps.

    Raises `LineageGap` if the tensors are not exactly those of the model.
    """
    metrics = read_metrics(checkpoint)
    load_weights(checkpoint, model)
    _copy(checkpoint, OPTIMIZER_FILE, optimizer.state())
    optimizer.steps = len(metrics)
    return metrics


def load_weights(checkpoint: Artifact, model: GPT) -> None:
    """Load the weights of a verified checkpoint into `model`, in place. `LineageGap` if they are another model's."""
    _copy(checkpoint, WEIGHTS_FILE, model.state_dict())


def _copy(checkpoint: Artifact, name: str, into: Mapping[str, Tensor]) -> None:
    found = _load(checkpoint.file(name), f"{checkpoint.path}/{name}")
    if {key: tensor.shape for key, tensor in found.items()} != {key: tensor.shape for key, tensor in into.items()}:
        raise LineageGap(f"{checkpoint.path}/{name}", expected="the tensors of this model", found="others")
    with torch.no_grad():
        for key, tensor in into.items():
            fill(tensor, found[key])


def _load(file: Path, where: str) -> dict[str, Tensor]:
    try:
        return load_file(file)
    except SafetensorError as error:
        raise LineageGap(where, expected="a safetensors file", found=str(error)) from error


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


def _copies(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    found = {}
    for name, tensor in tensors.items():
        values = whole(tensor.detach())
        if keep:
            found[name] = values.to("cpu", copy=True, memory_format=torch.contiguous_format)
    return found
