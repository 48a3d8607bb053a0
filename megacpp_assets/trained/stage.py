"""`trained_checkpoint`: trains a GPT on the packed rows of a mixture, in a launched job that publishes each saved step.

The job publishes the checkpoints, not this process. So a job that was killed resumes from its newest checkpoint.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import TrainingFailed
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.launch.client.drive import Launch, drive, release_lost
from megacpp_assets.launch.registry import launcher_for
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.atomic import remove_tree
from megacpp_assets.storage.publish import Target, claimed_artifact, current_artifact, withdraw_damaged
from megacpp_assets.storage.root import layout
from megacpp_assets.storage.root.locks import reading, writing
from megacpp_assets.trained.tensorboard import events_of
from megacpp_assets.trained.watch import watching
from megacpp_assets.training.checkpoints.resume import interim_checkpoints, remove
from megacpp_assets.training.inputs import require_one_tokenizer
from megacpp_assets.training.job import FAILURE_FILE, JOB_FILE, LIVE_METRICS_FILE, TrainingJob
from megacpp_assets.training.spec import VERSION, TrainedCheckpointSpec, checkpoint_target, data_paths, input_paths

__all__ = ["VERSION", "TrainedCheckpointSpec", "run", "spec", "target"]

SCRATCH_DIRECTORY: Final = ".training"


def spec(corpus: Corpus, partition: str) -> TrainedCheckpointSpec:
    """Return everything that decides the partition `SPECIALIST/PHASE` of `corpus`."""
    mixture, recipe = corpus.mixture(partition), corpus.recipe
    version, before = recipe.phase(mixture.phase).dataset_version, recipe.phase_before(mixture.phase)
    training = recipe.training_of(mixture.phase)
    return TrainedCheckpointSpec(corpus.root, corpus.dataset, mixture, training, version, recipe.launch, before)


def target(spec: TrainedCheckpointSpec) -> Target:
    """Return the target of the checkpoint of the recipe's last step."""
    return checkpoint_target(spec, spec.recipe.steps)


def run(spec: TrainedCheckpointSpec, progress: Progress = silent, launch: Launch | None = None) -> Artifact:
    """Return the final checkpoint of `spec`; train the steps that are missing. Progress is counted in steps.

    The launcher of the recipe runs the job, or `launch` if it is given. One run at a time works on a mixture.

    Raises:
        LineageGap: an input is missing or has changed.
        TokenizerDrift: the rows were made with another tokenizer than the lock pins.
        TrainingFailed: the job ended without the final checkpoint, because the loss did not fall or because the job was
            stopped or killed. The next run resumes from the newest checkpoint.
    """
    path, scratch = layout.checkpoints_path(spec.dataset, spec.mixture), scratch_folder(spec)
    release_lost(spec.root)
    with writing(spec.root, path), reading(spec.root, input_paths(spec)):
        withdraw_damaged(target(spec))
        final = claimed_artifact(target(spec)) or _train(spec, launch or _launcher(spec), progress, scratch)
        remove(interim_checkpoints(spec))  # left by a run that was killed after its last step
        if scratch.exists():
            remove_tree(scratch)
    release_lost(spec.root, patience=spec.launch)
    progress(spec.recipe.steps, spec.recipe.steps)
    return final


def scratch_folder(spec: TrainedCheckpointSpec) -> Path:
    """Return the folder for the job file, the log and the live metrics of a running training."""
    return spec.root / SCRATCH_DIRECTORY / layout.file_name(layout.checkpoints_path(spec.dataset, spec.mixture))


def _launcher(spec: TrainedCheckpointSpec) -> Launch:
    return partial(drive, launcher_for(spec.launch, spec.recipe), spec.launch)


def _train(spec: TrainedCheckpointSpec, launch: Launch, progress: Progress, scratch: Path) -> Artifact:
    """Launch the job in an empty `scratch` folder. The folder is kept for inspection if the job fails."""
    megatron, tokenizer = (open_artifact(spec.root, path) for path in data_paths(spec))
    require_one_tokenizer(spec.mixture.key, megatron, tokenizer)
    job = TrainingJob.of(spec)
    if scratch.exists():
        remove_tree(scratch)
    scratch.mkdir(parents=True)
    (scratch / JOB_FILE).write_bytes(job.to_bytes())
    live = scratch / LIVE_METRICS_FILE
    with watching(live, spec.recipe.steps, progress), events_of(spec, live):
        _launch(launch, job, scratch)
    final = current_artifact(target(spec))
    if final is None:
        raise TrainingFailed(
            f"training of {spec.mixture.key}", expected=target(spec).path, found="none", do="run it again"
        )
    return final


def _launch(launch: Launch, job: TrainingJob, directory: Path) -> None:
    """Launch the job. Prefer the failure reason that the job wrote to the launcher's reason."""
    failure = directory / FAILURE_FILE
    try:
        launch(job, directory)
    except TrainingFailed as error:
        if failure.is_file():
            raise TrainingFailed(failure.read_text(encoding="utf-8").strip()) from error
        raise
