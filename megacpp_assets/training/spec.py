"""The inputs of a trained checkpoint, and the path under which each of its steps is published."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.storage.publish import Target
from megacpp_assets.storage.root import layout
from megacpp_assets.training.inputs import data_identity

STAGE: Final = "trained_checkpoint"
VERSION = "11"


@dataclass(frozen=True, slots=True)
class TrainedCheckpointSpec:
    """A mixture of `dataset` and how to train on it.

    `dataset_version` is in the names of its Megatron files, unless it is "". `launch` decides where training runs; it
    changes no byte of the checkpoint and is not part of its configuration. With `phase_before`, training starts from
    the last checkpoint of that phase.
    """

    root: Path
    dataset: str
    mixture: Mixture
    recipe: TrainingRecipe
    dataset_version: str = ""
    launch: LaunchRecipe = field(default_factory=LaunchRecipe)
    phase_before: str = ""

    @property
    def files_dataset(self) -> str:
        """The name of the dataset in the names of its Megatron files."""
        return self.dataset_version or self.dataset

    @property
    def start(self) -> str | None:
        """The path of the checkpoint that training starts from; None if it starts from the seed."""
        if not self.phase_before:
            return None
        before = Mixture(self.mixture.specialist, self.phase_before)
        return layout.checkpoint_path(self.dataset, before, self.recipe.steps)


def checkpoint_target(spec: TrainedCheckpointSpec, step: int) -> Target:
    """Return the target of the checkpoint after `step` steps. Its configuration names the data if the data exists."""
    return Target(
        root=spec.root,
        path=layout.checkpoint_path(spec.dataset, spec.mixture, step),
        stage=STAGE,
        partition=spec.mixture.key,
        version=VERSION,
        config={"dataset": spec.files_dataset, "recipe": as_config(spec.recipe), "step": step, **_data_config(spec)},
        inputs=input_paths(spec),
    )


def data_paths(spec: TrainedCheckpointSpec) -> tuple[str, str]:
    """Return the paths of the mixture's Megatron artifact and of the dataset's tokenizer."""
    return layout.megatron_path(spec.dataset, spec.mixture), layout.tokenizer_path(spec.dataset)


def input_paths(spec: TrainedCheckpointSpec) -> tuple[str, ...]:
    """Return the paths of all inputs: the data, and the checkpoint that training starts from, if any."""
    return (*data_paths(spec), *filter(None, [spec.start]))


def _data_config(spec: TrainedCheckpointSpec) -> dict[str, str]:
    """Return the identities of the data, which the audit compares; empty if the inputs do not exist yet."""
    megatron, tokenizer = (find_artifact(spec.root, path) for path in data_paths(spec))
    if megatron is None or tokenizer is None:
        return {}
    data = data_identity(megatron, tokenizer, spec.files_dataset)
    return {
        "tokenizer_commit": data.tokenizer_commit,
        "tokenizer_sha256": data.tokenizer_sha256,
        "megatron_prefix": data.megatron_prefix,
        "megatron_sha256": data.megatron_sha256,
    }
