"""Stage 7: a small GPT trained on the packed rows of a mixture, in a process of its own that publishes each saved step.

The process makes the checkpoints, not this function: what it saved before it was killed is there to go on from.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Final

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import TrainingFailed
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.storage import layout
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.locks import reading, writing
from megacpp_assets.storage.publish import Target, claimed_artifact, current_artifact, withdraw_damaged
from megacpp_assets.training.checkpoints.resume import interim_checkpoints, remove
from megacpp_assets.training.inputs import require_one_tokenizer
from megacpp_assets.training.job import FAILURE_FILE, JOB_FILE, LIVE_METRICS_FILE, Job
from megacpp_assets.training.launch.drive import Launch, drive, release_lost
from megacpp_assets.training.launch.launcher import launcher_for
from megacpp_assets.training.spec import VERSION, TrainedCheckpointSpec, checkpoint_target, data_paths, input_paths
from megacpp_assets.training.tensorboard import events_of
from megacpp_assets.training.watch import watching

__all__ = ["VERSION", "TrainedCheckpointSpec", "run", "spec", "target"]

SCRATCH_DIRECTORY: Final = ".training"


def spec(corpus: Corpus, partition: str) -> TrainedCheckpointSpec:
    """What the partition `SPECIALIST/PHASE` of `corpus` is made from."""
    mixture, recipe = corpus.mixture(partition), corpus.recipe
    version, before = recipe.phase(mixture.phase).dataset_version, recipe.phase_before(mixture.phase)
    return TrainedCheckpointSpec(corpus.root, corpus.dataset, mixture, recipe.training, version, recipe.launch, before)


def target(spec: TrainedCheckpointSpec) -> Target:
    """The checkpoint of the recipe's last step."""
    return checkpoint_target(spec, spec.recipe.steps)


def run(spec: TrainedCheckpointSpec, progress: Progress = silent, launch: Launch | None = None) -> Artifact:
    """The final checkpoint of `spec`, training as far as that is not done yet. Progress is in steps.

    The launcher that the recipe names runs the job, unless `launch` does.

    One run at a time works on a mixture. Raises `LineageGap` for an input that is missing or changed, `TokenizerDrift`
    if another tokenizer is behind the rows than the lock pins, `TrainingFailed` if the process ends without the final
    checkpoint (the loss did not fall, it was stopped or killed: run again and it goes on from what it saved), and
    whatever `launch` raises.
    """
    path, scratch = layout.checkpoints_path(spec.dataset, spec.mixture), scratch_folder(spec)
    release_lost(spec.root)
    with writing(spec.root, path), reading(spec.root, input_paths(spec)):
        withdraw_damaged(target(spec))
        final = claimed_artifact(target(spec)) or _train(spec, launch or _launcher(spec), progress, scratch)
        remove(interim_checkpoints(spec))  # of a run that was killed after its last step
        if scratch.exists():
            shutil.rmtree(scratch)
    release_lost(spec.root, patience=spec.launch)
    progress(spec.recipe.steps, spec.recipe.steps)
    return final


def scratch_folder(spec: TrainedCheckpointSpec) -> Path:
    """For the job file, the log and the live metrics of a training that runs."""
    return spec.root / SCRATCH_DIRECTORY / layout.checkpoints_path(spec.dataset, spec.mixture).replace("/", "__")


def _launcher(spec: TrainedCheckpointSpec) -> Launch:
    return partial(drive, launcher_for(spec.launch, spec.recipe), spec.launch)


def _train(spec: TrainedCheckpointSpec, launch: Launch, progress: Progress, scratch: Path) -> Artifact:
    """Launch in a fresh `scratch` folder for job, log and live metrics; it is left for reading if something fails."""
    megatron, tokenizer = (open_artifact(spec.root, path) for path in data_paths(spec))
    require_one_tokenizer(spec.mixture.key, megatron, tokenizer)
    job = Job.of(spec)
    if scratch.exists():
        shutil.rmtree(scratch)
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


def _launch(launch: Launch, job: Job, directory: Path) -> None:
    """Launch, and let the reason that the process left speak louder than the launcher's."""
    failure = directory / FAILURE_FILE
    try:
        launch(job, directory)
    except TrainingFailed as error:
        if failure.is_file():
            raise TrainingFailed(failure.read_text(encoding="utf-8").strip()) from error
        raise
