"""Steps: a stage over one partition of a corpus. Which steps a plan has, and which steps each one depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.contract.step import CheckResult, Progress
from megacpp_assets.pipeline.stages import (
    CHECKPOINT,
    INDEX,
    SOURCES,
    STAGE_NAMES,
    STAGES,
    Kind,
    Stage,
    until,
    upstream_of,
)
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Target


@dataclass(frozen=True)
class Step:
    """A stage over one partition. Its specification is computed on first use."""

    corpus: Corpus
    stage: Stage
    partition: str

    @property
    def name(self) -> str:
        """`STAGE PARTITION`, unique within a corpus."""
        return f"{self.stage.name} {self.partition}"

    @property
    def resource(self) -> str:
        """Return the resource of which it needs a slot while it runs; "" for none."""
        return self.stage.resource_for(self.corpus.recipe)

    @cached_property
    def _spec(self) -> Any:
        return self.stage.implementation.spec(self.corpus, self.partition)

    def target(self) -> Target:
        """Return where the artifact belongs and what determines its bytes. This may read the manifests of its
        inputs.
        """
        return self.stage.implementation.target(self._spec)

    def run(self, progress: Progress) -> Artifact:
        """Make the artifact. A current one is returned unchanged."""
        return self.stage.implementation.run(self._spec, progress)

    @property
    def check_names(self) -> frozenset[str]:
        """The names of the checks of the stage."""
        return frozenset(check.name for check in self.stage.quality.CHECKS)

    def rules_behind(self, check: str) -> str:
        """Return the sections or keys of the recipe that can make the check with this name fail, or ""."""
        return next((each.recipe for each in self.stage.quality.CHECKS if each.name == check), "")

    def check(self, artifact: Artifact) -> Sequence[CheckResult]:
        """Run every check of the stage."""
        return self.stage.quality.check(artifact)

    def waits_for(self) -> Iterator[str]:
        """Yield the names of the steps whose artifacts it reads."""
        for upstream in upstream_of(self.stage, self.corpus.recipe):
            yield from (f"{upstream.name} {partition}" for partition in self._read_partitions(upstream.kind))
        if self.stage.name == INDEX:
            stand_ins = self.corpus.stand_ins(RepoRef.parse(self.partition).name)
            yield from (f"{SOURCES} {repo.key}" for repo in stand_ins)
        if self.stage.name == CHECKPOINT and (
            before := mixture_before(self.corpus, self.corpus.mixture(self.partition))
        ):
            yield f"{CHECKPOINT} {before.key}"

    def _read_partitions(self, kind: Kind) -> Sequence[str]:
        if kind is self.stage.kind:
            return [self.partition]
        if kind is Kind.REPOSITORY:
            return [repo.key for repo in self.corpus.repo_refs]
        return [self.corpus.dataset]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What to build: mixtures, or only the references `refs`; and the last stage to run."""

    mixtures: tuple[Mixture, ...]
    last: str = STAGE_NAMES[-1]
    refs: tuple[RepoRef, ...] = ()


def step_of(corpus: Corpus, stage: str, partition: str) -> Step:
    """Return one step. `SpecError` for an unknown stage, or a partition that the corpus lacks."""
    row = STAGES.get(stage)
    if row is None:
        raise SpecError.unknown("stage", stage, STAGE_NAMES)
    if not row.wanted(corpus.recipe):
        do = "name a dataset version in the blend of a phase of the recipe"
        raise SpecError(f"stage {stage}", expected="a recipe that asks for it", found=corpus.recipe.dataset, do=do)
    if row.kind is Kind.REPOSITORY:
        corpus.pin(partition)
    elif row.kind is Kind.MIXTURE:
        corpus.mixture(partition)
    elif partition != corpus.dataset:
        raise SpecError(f"partition of {stage}", expected=corpus.dataset, found=partition, do="name the dataset")
    return Step(corpus, row, partition)


def planned_steps(corpus: Corpus, plan: RunPlan) -> list[Step]:
    """Return every step of the plan, each after the steps that it depends on."""
    if plan.refs:
        return _steps_of_references(corpus, plan)
    partitions = {
        Kind.REPOSITORY: [repo.key for repo in corpus.repo_refs],
        Kind.DATASET: [corpus.dataset],
        Kind.MIXTURE: [mixture.key for mixture in _with_those_before(corpus, plan)],
    }
    return [step_of(corpus, row.name, key) for row in until(plan.last, corpus.recipe) for key in partitions[row.kind]]


def mixture_before(corpus: Corpus, mixture: Mixture) -> Mixture | None:
    """Return the mixture whose weights this one's training starts from, or None."""
    before = corpus.recipe.phase_before(mixture.phase)
    return Mixture(mixture.specialist, before) if before else None


def _with_those_before(corpus: Corpus, plan: RunPlan) -> list[Mixture]:
    """Return the mixtures of the plan, each after the mixture that its training starts from, which is added."""
    found: dict[Mixture, None] = {}
    for mixture in plan.mixtures:
        line = [mixture]
        while plan.last == CHECKPOINT and (before := mixture_before(corpus, line[-1])) is not None:
            line.append(before)
        found.update(dict.fromkeys(reversed(line)))
    return list(found)


def _steps_of_references(corpus: Corpus, plan: RunPlan) -> list[Step]:
    """Return the steps over `plan.refs`, and the steps that they depend on: the tokenizer and its sources."""
    repos = sorted({*plan.refs, *corpus.repo_refs})
    partitions = {Kind.REPOSITORY: [repo.key for repo in repos], Kind.DATASET: [corpus.dataset], Kind.MIXTURE: []}
    candidates = [
        step_of(corpus, row.name, key) for row in until(plan.last, corpus.recipe) for key in partitions[row.kind]
    ]
    asked = {repo.key for repo in plan.refs}
    needed: set[str] = set()
    for step in reversed(candidates):  # steps that depend on it come after it
        if step.partition in asked or step.name in needed:
            needed |= {step.name, *step.waits_for()}
    return [step for step in candidates if step.name in needed]
