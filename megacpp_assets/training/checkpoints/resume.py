"""Selects the published checkpoint from which a run resumes: the newest valid one of the same recipe and inputs.

No directory is listed: the path of a checkpoint follows from its step, its fingerprint from recipe and inputs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import PLACEMENT
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.publish import claimed_artifact, remove_artifact
from megacpp_assets.storage.root import layout
from megacpp_assets.training.schedule import is_saved
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target

_LOG = logging.getLogger(__name__)


def newest_checkpoint(spec: TrainedCheckpointSpec) -> tuple[Artifact | None, list[Artifact]]:
    """Return the checkpoint to resume from, or None to start over; and the newer ones that fail verification.

    A checkpoint of a run on other processes counts only if the recipe is elastic.
    """
    damaged: list[Artifact] = []
    for artifact in sealed_checkpoints(spec, range(spec.recipe.steps, 0, -1)):
        problem = next(artifact.problems(), None)
        if problem is None:
            return artifact, damaged
        _LOG.warning("training does not resume from %s; expected %s; found %s", *problem)
        damaged.append(artifact)
    return None, damaged


def interim_checkpoints(spec: TrainedCheckpointSpec) -> list[Artifact]:
    """Return the checkpoints that interrupted runs saved between the scheduled steps."""
    unscheduled = (step for step in range(1, spec.recipe.steps) if not is_saved(spec.recipe, step))
    return list(sealed_checkpoints(spec, unscheduled))


def remove(artifacts: Iterable[Artifact]) -> None:
    """Remove each checkpoint, its seal first."""
    for artifact in artifacts:
        remove_artifact(artifact)


def sealed_checkpoints(spec: TrainedCheckpointSpec, steps: Iterable[int]) -> Iterator[Artifact]:
    """Yield the sealed checkpoints of this work among `steps`, in that order. No data file is read."""
    root = str(spec.root)
    for step in steps:
        # Long runs have many steps and few checkpoints. One system call rules out most steps.
        if os.path.isfile(f"{root}/{layout.checkpoint_path(spec.dataset, spec.mixture, step)}/{COMPLETE_FILE}"):
            artifact = claimed_artifact(checkpoint_target(spec, step)) or _elsewhere(spec, step)
            if artifact is not None:
                yield artifact


def resumed_from(spec: TrainedCheckpointSpec, checkpoint: Artifact) -> list[Mapping[str, Any]]:
    """Return the checkpoints of other processes that a run which resumes from `checkpoint` depends on, oldest first."""
    found = list(checkpoint.manifest.stats.get("resumed", ()))
    placement = _placement(checkpoint)
    if placement == {name: getattr(spec.recipe, name) for name in PLACEMENT}:
        return found
    step, sha256 = checkpoint.manifest.stats["steps"], checkpoint.manifest.sha256
    return [*found, {"step": step, "manifest_sha256": sha256, **placement}]


def _elsewhere(spec: TrainedCheckpointSpec, step: int) -> Artifact | None:
    """Return the checkpoint of an unfinished run of the same work on other processes, if the recipe is elastic."""
    found = find_artifact(spec.root, checkpoint_target(spec, step).path) if spec.recipe.elastic else None
    if found is None or step == spec.recipe.steps:
        return None
    try:
        recipe = replace(spec.recipe, **_placement(found))
    except (SpecError, TypeError):  # other code made it, or its number of processes does not divide this batch
        return None
    return claimed_artifact(checkpoint_target(replace(spec, recipe=recipe), step))


def _placement(checkpoint: Artifact) -> dict[str, Any]:
    recipe = checkpoint.manifest.config.get("recipe", {})
    return {name: recipe[name] for name in PLACEMENT if name in recipe}
