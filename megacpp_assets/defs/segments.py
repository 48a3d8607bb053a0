"""The stages that share a body, and the job that runs it.

Neighbouring stages of the table that have the same partitions share a body, so that one run takes a repository through
all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.keys import plain_name
from megacpp_assets.pipeline.stages import Kind, Stage, stages_of


@dataclass(frozen=True, slots=True)
class Segment:
    """Stages that share one body. `phase` is "" unless their partitions are mixtures."""

    stages: tuple[Stage, ...]
    phase: str = ""

    @property
    def name(self) -> str:
        """Unique within a dataset."""
        return "__".join(filter(None, [self.phase, *(stage.name for stage in self.stages)]))


def segments(corpus: Corpus) -> Iterator[Segment]:
    """Yield the runs of neighbouring stages of one kind; those over mixtures once for each phase of the recipe."""
    for kind, stages in groupby(stages_of(corpus.recipe), key=lambda stage: stage.kind):
        group = tuple(stages)
        if kind is Kind.MIXTURE:
            yield from (Segment(group, phase) for phase in corpus.recipe.curriculum)
        else:
            yield Segment(group)


def job_name(dataset: str, segment: Segment) -> str:
    """Return the name of the job that runs the body of `segment`."""
    return f"{plain_name(dataset)}__{segment.name}__job"
