"""Finds artifacts whose folder is missing, and the command that makes them again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.pipeline.stages import Kind
from megacpp_assets.pipeline.steps import Step, step_of
from megacpp_assets.storage.root.layout import RECIPES


@dataclass(frozen=True, slots=True)
class Missing:
    """A step without its artifact. `path` is where the artifact belongs, below the data root."""

    step: Step
    path: str

    def gap(self, asset: str) -> LineageGap:
        """Return the error for a user who sees the step as the Dagster asset `asset`."""
        return LineageGap(
            f"{asset} {self.step.partition}",
            expected=f"its folder {self.path}",
            found="no such folder, or an incomplete one",
            do=f"put the folder back and run megacpp run; or materialize partition {self.step.partition} of {asset}; "
            f"or run: {command_for(self.step)}",
        )


def missing_artifacts(steps: Iterable[Step]) -> Iterator[Missing]:
    """Yield the steps whose artifact is missing. Steps whose path depends on a missing input are left out."""
    for step in steps:
        try:
            path = step.target().path
        except LineageGap:
            continue
        if not (step.corpus.root / path / COMPLETE_FILE).is_file():
            yield Missing(step, path)


def missing_inputs(corpus: Corpus, steps: Iterable[Step]) -> Iterator[Missing]:
    """Return the missing artifacts that `steps` read and that none of `steps` makes."""
    planned = list(steps)
    made = {step.name for step in planned}
    read = dict.fromkeys(name for step in planned for name in step.waits_for() if name not in made)
    return missing_artifacts(step_of(corpus, *name.split(" ", 1)) for name in read)


def command_for(step: Step) -> str:
    """Return the command line that makes the artifact of `step` again, together with its inputs."""
    corpus, until = step.corpus, f"--until {step.stage.name}"
    root = f"--data-root {shlex.quote(str(corpus.root))}"
    if step.stage.kind is Kind.REPOSITORY and RepoRef.parse(step.partition) not in corpus.repo_refs:
        return f"megacpp run --refs {step.partition} --dataset {corpus.dataset} {until} {root}"
    recipe = shlex.quote(str(corpus.root / RECIPES / f"{corpus.lock.recipe}.toml"))
    return f"megacpp run --recipe {recipe} {until} {root}"
