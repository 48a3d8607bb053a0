"""What a launch would ask for, and what it would take, before it is asked for. Nothing is reached or written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.training.job import Job
from megacpp_assets.training.launch import records
from megacpp_assets.training.launch.launcher import Order, launcher_for
from megacpp_assets.training.launch.pace import Rate
from megacpp_assets.training.launch.post import job_uri
from megacpp_assets.training.launch.records import Record
from megacpp_assets.training.network.size import parameter_count
from megacpp_assets.training.spec import TrainedCheckpointSpec, input_paths

_SPENDING = ("layers", "hidden", "heads", "kv_heads", "dtype", "compiled", "optimizer", "accumulate", "batch_rows")


@dataclass(frozen=True, slots=True)
class Preview:
    """The next attempt, exactly what its launcher would ask for, and those of its inputs that are not made yet.

    While any is missing the job has another name than it will have: that is a hash of what it reads.
    """

    order: Order
    plan: str
    missing: tuple[str, ...]


def preview(spec: TrainedCheckpointSpec, directory: Path) -> Preview:
    """Of the training of `spec`, whose job file would lie in `directory` where nothing travels."""
    found = {path: find_artifact(spec.root, path) for path in input_paths(spec)}
    inputs = {path: artifact.manifest.sha256 for path, artifact in found.items() if artifact}
    job = Job.over(spec, inputs)
    place = job_uri(spec.launch.exchange, job.name) if spec.launch.exchange else directory.resolve().as_uri()
    order = Order(job, records.next_attempt(spec.root, job.name), place, spec.launch.nodes)
    missing = tuple(path for path, artifact in found.items() if artifact is None)
    return Preview(order, launcher_for(spec.launch, spec.recipe).plan(order), missing)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a training of `parameters` would take by the rate of the attempt `measured`, which trained the same way if
    `same`; else that rate is scaled by the work of a step, 6 operations a parameter and token.
    """

    parameters: int
    steps: int
    rate: Rate
    measured: Record
    same: bool

    @property
    def seconds(self) -> float:
        """From asking for it to its end, if nothing takes its machine away."""
        return self.rate.start_seconds + self.steps * self.rate.seconds_per_step


def estimate(recipe: Recipe, phase: str, measured: Iterable[Record]) -> Estimate:
    """Of training `recipe` in `phase`, from what earlier attempts on the same launcher and device took.

    `SpecError` where there is none.
    """
    training, launch = recipe.training, recipe.launch
    here = (launch.launcher, training.device, training.processes)
    known = [each for each in measured if each.rate and _where(each) == here]
    if not known:
        do = "run a few steps there: megacpp run --set training.steps=8 --specialists base"
        expected = f"a rate measured by launcher {here[0]} on {here[1]} with {here[2]} processes"
        raise SpecError("the estimate", expected=expected, found="none in this data root", do=do)
    tokens = training.batch_rows * recipe.phase(phase).row_tokens
    work = parameter_count(recipe) * float(tokens)

    def distance(each: Record) -> tuple[bool, float]:
        return not _same(recipe, phase, each), abs(math.log(_work(recipe, each) / work))

    # Of equals the last, which was measured last.
    best = min(reversed(known), key=distance)
    rate, same = best.rate, _same(recipe, phase, best)
    assert rate is not None
    if not same:
        rate = replace(rate, seconds_per_step=rate.seconds_per_step * work / _work(recipe, best), tokens=tokens)
    return Estimate(parameter_count(recipe), training.steps, rate, best, same)


def _where(record: Record) -> tuple[str, str, int]:
    return record.launch.launcher, record.training.device, record.training.processes


def _same(recipe: Recipe, phase: str, record: Record) -> bool:
    """Whether it trained rows of that phase in a way that takes as long."""
    if record.partition.partition("/")[2] != phase:
        return False
    return all(getattr(recipe.training, name) == getattr(record.training, name) for name in _SPENDING)


def _work(recipe: Recipe, record: Record) -> float:
    """Parameters times tokens of a step of what was measured, were its vocabulary that of `recipe`."""
    assert record.rate is not None
    return parameter_count(replace(recipe, training=record.training)) * record.rate.tokens
