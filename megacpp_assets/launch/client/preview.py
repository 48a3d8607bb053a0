"""Previews a launch: what it would ask for, and how long it would take. It reaches and writes nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.progress import StepRate
from megacpp_assets.launch.client.records import AttemptRecord
from megacpp_assets.launch.launcher import AttemptOrder
from megacpp_assets.launch.protocol.job_folder import job_uri
from megacpp_assets.launch.registry import launcher_for
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.training.job import TrainingJob
from megacpp_assets.training.network.size import parameter_count
from megacpp_assets.training.spec import TrainedCheckpointSpec, input_paths

_SPENDING = ("layers", "hidden", "heads", "kv_heads", "dtype", "compiled", "optimizer", "accumulate", "batch_rows")


@dataclass(frozen=True, slots=True)
class Preview:
    """The next attempt, the exact plan of its launcher, and the inputs that do not exist yet.

    The name of a job is a hash of its inputs. So the name still changes while an input is missing.
    """

    order: AttemptOrder
    plan: str
    missing: tuple[str, ...]


def preview(spec: TrainedCheckpointSpec, directory: Path) -> Preview:
    """Preview the training of `spec`. Without an exchange, `directory` would hold the job file."""
    found = {path: find_artifact(spec.root, path) for path in input_paths(spec)}
    inputs = {path: artifact.manifest.sha256 for path, artifact in found.items() if artifact}
    job = TrainingJob.over(spec, inputs)
    place = job_uri(spec.launch.exchange, job.name) if spec.launch.exchange else directory.resolve().as_uri()
    order = AttemptOrder(job, records.next_attempt(spec.root, job.name), place, spec.launch.nodes)
    missing = tuple(path for path, artifact in found.items() if artifact is None)
    return Preview(order, launcher_for(spec.launch, spec.recipe).plan(order), missing)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The duration of a training, from the rate of the earlier attempt `measured`.

    If `same` is false, the earlier attempt trained a different model or batch. Its rate is then scaled by the work of a
    step, which is proportional to parameters times tokens.
    """

    parameters: int
    steps: int
    rate: StepRate
    measured: AttemptRecord
    same: bool

    @property
    def seconds(self) -> float:
        """The seconds from the launch to the end, if no machine is taken away."""
        return self.rate.start_seconds + self.steps * self.rate.seconds_per_step


def estimate(recipe: Recipe, phase: str, measured: Iterable[AttemptRecord]) -> Estimate:
    """Estimate the training of `recipe` in `phase` from earlier attempts on the same launcher and device.

    `SpecError` if no such attempt was measured.
    """
    recipe = replace(recipe, training=recipe.training_of(phase))
    training, launch = recipe.training, recipe.launch
    here = (launch.launcher, training.device, training.processes)
    known = [each for each in measured if each.rate and _where(each) == here]
    if not known:
        do = "run a few steps there: megacpp run --set training.steps=8 --specialists base"
        expected = f"a rate measured by launcher {here[0]} on {here[1]} with training.processes = {here[2]}"
        raise SpecError("the estimate", expected=expected, found="none in this data root", do=do)
    tokens = training.batch_rows * recipe.phase(phase).row_tokens
    work = parameter_count(recipe) * float(tokens)

    def distance(each: AttemptRecord) -> tuple[bool, float]:
        return not _same(recipe, phase, each), abs(math.log(_work(recipe, each) / work))

    # Among equally close attempts, the most recent one counts.
    best = min(reversed(known), key=distance)
    rate, same = best.rate, _same(recipe, phase, best)
    assert rate is not None
    if not same:
        rate = replace(rate, seconds_per_step=rate.seconds_per_step * work / _work(recipe, best), tokens=tokens)
    return Estimate(parameter_count(recipe), training.steps, rate, best, same)


def _where(record: AttemptRecord) -> tuple[str, str, int]:
    return record.launch.launcher, record.training.device, record.training.processes


def _same(recipe: Recipe, phase: str, record: AttemptRecord) -> bool:
    """Return whether the attempt trained the same phase with settings that take the same time."""
    if record.partition.partition("/")[2] != phase:
        return False
    return all(getattr(recipe.training, name) == getattr(record.training, name) for name in _SPENDING)


def _work(recipe: Recipe, record: AttemptRecord) -> float:
    """Return parameters times tokens per step of the measured attempt, with the vocabulary of `recipe`."""
    assert record.rate is not None
    return parameter_count(replace(recipe, training=record.training)) * record.rate.tokens
