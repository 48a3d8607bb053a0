"""Invariants of `trained_checkpoint`: the run is complete, losses and weights are finite, and its data is recorded.

A function for a checkpoint returns the problem as text, None if there is no problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.quality.shared.lineage import EXPECTED, NAME, tokenizer_lineage
from megacpp_assets.quality.shared.table import Check, Verdict, run_checks
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.training.checkpoints.record import (
    MODEL,
    OPTIMIZER,
    CheckpointConfig,
    StepMetrics,
    loss_fell,
    quarter_losses,
    read_config,
    read_metrics,
)


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    artifact: Artifact
    config: CheckpointConfig
    metrics: list[StepMetrics]


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`. The checks also read the checkpoint's inputs."""
    return run_checks(CHECKS, _Checkpoint(artifact, read_config(artifact), read_metrics(artifact)))


@dataclass(frozen=True, slots=True)
class _NoProblem:
    """A judge that holds if `problem` returns None."""

    problem: Callable[[_Checkpoint], str | None]

    def __call__(self, checkpoint: _Checkpoint) -> Verdict:
        found = self.problem(checkpoint)
        return Verdict(found is None, found or "no deviation")


def _steps(checkpoint: _Checkpoint) -> str | None:
    steps = int(checkpoint.config.recipe["steps"])
    found = [metrics.step for metrics in checkpoint.metrics]
    if found == list(range(1, steps + 1)) and checkpoint.config.step == steps:
        return None
    return f"{len(found)} lines, the last of step {found[-1] if found else 0}; expected {steps} steps"


def _finite_losses(checkpoint: _Checkpoint) -> str | None:
    wrong = [metrics.step for metrics in checkpoint.metrics if not math.isfinite(metrics.loss)]
    return f"not finite at step {wrong[0]}" if wrong else None


def _fell(checkpoint: _Checkpoint) -> str | None:
    losses = [metrics.loss for metrics in checkpoint.metrics]
    if loss_fell(losses):
        return None
    first, last = quarter_losses(losses) if losses else (math.nan, math.nan)
    return f"{last:.4f} in the last quarter, {first:.4f} in the first"


def _finite_weights(checkpoint: _Checkpoint) -> str | None:
    return next(_not_finite(checkpoint.artifact), None)


def _not_finite(artifact: Artifact) -> Iterator[str]:
    """Yield the tensors with a value that is not finite.

    They are read in pieces, so that a large model needs little memory.
    """
    import numpy as np

    from megacpp_assets.training.checkpoints.shards import Shards

    try:
        shards = Shards(artifact, "np")
        for kind in (MODEL, OPTIMIZER):
            for name in shards.tensors(kind):
                if not all(bool(np.isfinite(piece).all()) for piece in shards.pieces(kind, name)):
                    yield f"{kind}: {name}"
    except LineageGap as gap:
        yield str(gap)


def _train_bin(checkpoint: _Checkpoint) -> str | None:
    megatron = input_of(checkpoint.artifact, "megatron_bin_idx")
    prefix = files.prefix_name(checkpoint.config.dataset, TRAIN_SPLIT)
    return _differs(
        (f"{megatron.path}/{prefix}", megatron.manifest.file(prefix + files.BIN).sha256),
        (checkpoint.config.data.megatron_prefix, checkpoint.config.data.megatron_sha256),
    )


def _tokenizer(checkpoint: _Checkpoint) -> str | None:
    from megacpp_assets.tokenizer.lock import LOCK_FILE, TokenizerLock

    pin = TokenizerLock.from_bytes(input_of(checkpoint.artifact, "tokenizer").file(LOCK_FILE).read_bytes()).pin
    data = checkpoint.config.data
    return _differs((pin.commit, pin.sha256), (data.tokenizer_commit, data.tokenizer_sha256))


def _manifests(checkpoint: _Checkpoint) -> str | None:
    """Return the problem with the recorded manifests of the data; None if they are the inputs."""
    # A checkpoint that training resumed from is an input too, but not data.
    own = checkpoint.artifact.path.partition("/")[0]
    data = [ref for ref in checkpoint.artifact.manifest.inputs if ref.path.partition("/")[0] != own]
    recorded = (checkpoint.config.data.tokenizer_manifest_sha256, checkpoint.config.data.megatron_manifest_sha256)
    return _differs(sorted(ref.manifest_sha256 for ref in data), sorted(recorded))


def _differs(expected: object, recorded: object) -> str | None:
    return None if expected == recorded else f"recorded {recorded}, found {expected}"


CHECKS: Final[tuple[Check[_Checkpoint], ...]] = (
    Check("steps_are_the_recipes", "one line of metrics for each step of the recipe, in order", _NoProblem(_steps)),
    Check("losses_are_finite", "a finite loss at every step", _NoProblem(_finite_losses)),
    Check(
        "loss_fell",
        "a lower mean loss in the last quarter of the steps than in the first",
        _NoProblem(_fell),
        recipe="[training]",
    ),
    Check(
        "weights_are_finite",
        "finite values in every tensor of the model and of the optimiser",
        _NoProblem(_finite_weights),
    ),
    Check(
        "train_bin_is_the_megatron_artifacts",
        "the sha256 of the .bin in the Megatron artifact's manifest",
        _NoProblem(_train_bin),
    ),
    Check("tokenizer_is_the_locked_one", "commit and sha256 of the tokenizer's lock", _NoProblem(_tokenizer)),
    Check("data_manifests_are_the_inputs", "the manifests this checkpoint was made from", _NoProblem(_manifests)),
    Check(NAME, EXPECTED, tokenizer_lineage),
)
