"""Invariants of `trained_checkpoint`: the run went to its end, its numbers are numbers, its data is what it says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from safetensors import SafetensorError, safe_open

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.errors import LineageGap, MegacppError
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.tokenizer.lock import LOCK_FILE, TokenizerLock
from megacpp_assets.training.record import (
    OPTIMIZER_FILE,
    WEIGHTS_FILE,
    CheckpointConfig,
    StepMetrics,
    loss_fell,
    quarter_losses,
    read_config,
    read_metrics,
)

CHECKS: Final = {
    "steps_are_the_recipes": "one line of metrics for each step of the recipe, in order",
    "losses_are_finite": "a finite loss at every step",
    "loss_fell": "a lower mean loss in the last quarter of the steps than in the first",
    "weights_are_finite": "finite values in every tensor of the model and of the optimiser",
    "train_bin_is_the_megatron_artifacts": "the sha256 of the .bin in the Megatron artifact's manifest",
    "tokenizer_is_the_locked_one": "commit and sha256 of the tokenizer's lock",
    "data_manifests_are_the_inputs": "the manifests this checkpoint was made from",
}
"""Name -> what must hold."""


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    artifact: Artifact
    config: CheckpointConfig
    metrics: list[StepMetrics]

    def input(self, stage: str) -> Artifact:
        """The input made by `stage`."""
        for reference in self.artifact.manifest.inputs:
            found = open_artifact(self.artifact.root, reference.path)
            if found.manifest.stage == stage:
                return found
        raise LineageGap(self.artifact.path, expected=f"an input made by {stage}", found="none")


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`. Reads the artifacts that it was made from."""
    checkpoint = _Checkpoint(artifact, read_config(artifact), read_metrics(artifact))
    return [_result(name, checkpoint) for name in CHECKS]


def _result(name: str, checkpoint: _Checkpoint) -> CheckResult:
    """A problem, or an input that cannot be read, fails the check."""
    try:
        problem = _PROBLEM_OF[name](checkpoint)
    except MegacppError as error:
        problem = str(error)
    return CheckResult(name, problem is None, CHECKS[name], problem or "so")


def _steps(checkpoint: _Checkpoint) -> str | None:
    steps = int(checkpoint.config.recipe["steps"])
    found = [metrics.step for metrics in checkpoint.metrics]
    if found == list(range(1, steps + 1)) and checkpoint.config.step == steps:
        return None
    return f"{len(found)} lines, the last of step {found[-1] if found else 0}, where {steps} steps are due"


def _finite_losses(checkpoint: _Checkpoint) -> str | None:
    wrong = [metrics.step for metrics in checkpoint.metrics if not math.isfinite(metrics.loss)]
    return f"no number at step {wrong[0]}" if wrong else None


def _fell(checkpoint: _Checkpoint) -> str | None:
    losses = [metrics.loss for metrics in checkpoint.metrics]
    if loss_fell(losses):
        return None
    first, last = quarter_losses(losses) if losses else (math.nan, math.nan)
    return f"{last:.4f} after {first:.4f}"


def _finite_weights(checkpoint: _Checkpoint) -> str | None:
    return next(_not_finite(checkpoint.artifact), None)


def _not_finite(artifact: Artifact) -> Iterator[str]:
    for name in (WEIGHTS_FILE, OPTIMIZER_FILE):
        try:
            with safe_open(artifact.file(name), framework="numpy") as tensors:
                for key in tensors.keys():
                    if not bool(np.isfinite(tensors.get_tensor(key)).all()):
                        yield f"{name}: {key}"
        except SafetensorError as error:
            yield f"{name}: {error}"


def _train_bin(checkpoint: _Checkpoint) -> str | None:
    megatron = checkpoint.input("megatron_bin_idx")
    prefix = files.prefix_name(checkpoint.config.dataset, TRAIN_SPLIT)
    return _differs(
        (f"{megatron.path}/{prefix}", megatron.manifest.file(prefix + files.BIN).sha256),
        (checkpoint.config.data.megatron_prefix, checkpoint.config.data.megatron_sha256),
    )


def _tokenizer(checkpoint: _Checkpoint) -> str | None:
    pin = TokenizerLock.from_bytes(checkpoint.input("tokenizer").file(LOCK_FILE).read_bytes()).pin
    data = checkpoint.config.data
    return _differs((pin.commit, pin.sha256), (data.tokenizer_commit, data.tokenizer_sha256))


def _manifests(checkpoint: _Checkpoint) -> str | None:
    data = checkpoint.config.data
    expected = {reference.manifest_sha256 for reference in checkpoint.artifact.manifest.inputs}
    return _differs(sorted(expected), sorted({data.megatron_manifest_sha256, data.tokenizer_manifest_sha256}))


def _differs(expected: object, recorded: object) -> str | None:
    return None if expected == recorded else f"recorded {recorded}, found {expected}"


_PROBLEM_OF: Final[dict[str, Callable[[_Checkpoint], str | None]]] = {
    "steps_are_the_recipes": _steps,
    "losses_are_finite": _finite_losses,
    "loss_fell": _fell,
    "weights_are_finite": _finite_weights,
    "train_bin_is_the_megatron_artifacts": _train_bin,
    "tokenizer_is_the_locked_one": _tokenizer,
    "data_manifests_are_the_inputs": _manifests,
}
