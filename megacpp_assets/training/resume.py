"""Which published checkpoint a run goes on from: the newest one that verifies and belongs to the same work.

No directory is listed: a checkpoint's place follows from its step, and its fingerprint from recipe and inputs.
"""

from __future__ import annotations

import shutil

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.storage import layout
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import fsync_directory
from megacpp_assets.storage.publish import current_artifact
from megacpp_assets.training.schedule import is_saved
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target


def newest_checkpoint(spec: TrainedCheckpointSpec) -> Artifact | None:
    """The checkpoint to resume from, None to start over. Changes nothing."""
    for step in range(spec.recipe.steps, 0, -1):
        artifact = _current(spec, step)
        if artifact is not None and next(artifact.problems(), None) is None:
            return artifact
    return None


def withdraw_after(spec: TrainedCheckpointSpec, step: int) -> None:
    """Remove the checkpoints of this work beyond `step`: they failed verification and will be made again."""
    for later in range(step + 1, spec.recipe.steps + 1):
        artifact = _current(spec, later)
        if artifact is not None:
            _remove(artifact)


def remove_interim(spec: TrainedCheckpointSpec) -> None:
    """Remove what interrupted runs saved between the scheduled steps: an undisturbed run leaves no such thing."""
    for step in range(1, spec.recipe.steps):
        artifact = None if is_saved(spec.recipe, step) else _current(spec, step)
        if artifact is not None:
            _remove(artifact)


def _current(spec: TrainedCheckpointSpec, step: int) -> Artifact | None:
    # A missing folder is told apart first: a target reads the manifests of its inputs.
    if not (spec.root / layout.checkpoint_path(spec.dataset, spec.mixture, step) / COMPLETE_FILE).is_file():
        return None
    return current_artifact(checkpoint_target(spec, step))


def _remove(artifact: Artifact) -> None:
    """Withdraw the seal, durably, before anything else goes."""
    (artifact.directory / COMPLETE_FILE).unlink()
    fsync_directory(artifact.directory)
    shutil.rmtree(artifact.directory)
