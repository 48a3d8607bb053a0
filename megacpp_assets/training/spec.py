"""What a trained checkpoint is made from, and under which name each of its steps is published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.recipe import TrainingRecipe, as_config
from megacpp_assets.storage import layout
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.storage.publish import Target
from megacpp_assets.training.inputs import data_identity

STAGE: Final = "trained_checkpoint"
VERSION = "1"
DEVICES: Final = ("cpu", "cuda")
_LEAST_STEPS = 4


@dataclass(frozen=True, slots=True)
class TrainedCheckpointSpec:
    """A mixture of `dataset` and how to train on it. `SpecError` for a recipe that cannot be carried out."""

    root: Path
    dataset: str
    mixture: Mixture
    recipe: TrainingRecipe

    def __post_init__(self) -> None:
        recipe = self.recipe
        _require("steps", recipe.steps >= _LEAST_STEPS, f"at least {_LEAST_STEPS}, or no loss can fall", recipe.steps)
        for name in ("layers", "heads", "save_every", "batch_rows", "threads", "processes"):
            _require(name, getattr(recipe, name) >= 1, "at least 1", getattr(recipe, name))
        _require("device", recipe.device in DEVICES, " or ".join(DEVICES), recipe.device)
        pairs = recipe.hidden >= 1 and recipe.hidden % (2 * recipe.heads) == 0
        _require("hidden", pairs, f"a multiple of 2 x {recipe.heads} heads", recipe.hidden)
        shares = recipe.batch_rows % recipe.processes == 0
        _require("batch_rows", shares, f"a multiple of {recipe.processes} processes", recipe.batch_rows)


def _require(name: str, holds: bool, expected: str, found: object) -> None:
    if not holds:
        raise SpecError(f"training.{name}", expected=expected, found=found)


def checkpoint_target(spec: TrainedCheckpointSpec, step: int) -> Target:
    """The checkpoint after `step` steps. Its configuration names the data as far as the data exists."""
    return Target(
        root=spec.root,
        path=layout.checkpoint_path(spec.dataset, spec.mixture, step),
        stage=STAGE,
        partition=spec.mixture.key,
        version=VERSION,
        config={"dataset": spec.dataset, "recipe": as_config(spec.recipe), "step": step, **_data_config(spec)},
        inputs=input_paths(spec),
    )


def input_paths(spec: TrainedCheckpointSpec) -> tuple[str, str]:
    """The Megatron artifact of the mixture and the tokenizer of the dataset."""
    return layout.megatron_path(spec.dataset, spec.mixture), layout.tokenizer_path(spec.dataset)


def _data_config(spec: TrainedCheckpointSpec) -> dict[str, str]:
    """Facts that the audit compares with what it finds; empty before the inputs are made."""
    megatron, tokenizer = (find_artifact(spec.root, path) for path in input_paths(spec))
    if megatron is None or tokenizer is None:
        return {}
    data = data_identity(megatron, tokenizer, spec.dataset)
    return {
        "tokenizer_commit": data.tokenizer_commit,
        "tokenizer_sha256": data.tokenizer_sha256,
        "megatron_prefix": data.megatron_prefix,
        "megatron_sha256": data.megatron_sha256,
    }
