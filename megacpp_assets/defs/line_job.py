"""The job of a dataset's whole line, with an op for each stage. `megacpp run` is recorded under it, and it can be
run again.

Unlike a job of assets it covers repositories and mixtures in one run.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of ops as values.
from collections.abc import Sequence
from typing import Any, Final

import dagster as dg
from pydantic import Field

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.defs.keys import plain_name
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.stages import TOKENIZER, Kind, Stage, stages_of, upstream_of
from megacpp_assets.pipeline.steps import Step

ASKED: Final = "asked"
"""The key of the resource that says what to run."""
DESCRIPTION: Final = (
    "The whole line of the dataset, stage by stage, as `megacpp run` does it. Runs what is missing or outdated. "
    "Settings belong to the recipe (`megacpp recipe show`); the config only says which partitions to run."
)


class Asked(dg.ConfigurableResource[Any]):
    """The partitions to run."""

    references: list[str] | None = Field(
        None, description="NAME@REF of the stages of a repository. Default: those that mixtures read."
    )
    mixtures: list[str] | None = Field(
        None, description="SPECIALIST/PHASE of the stages of a mixture. Default: every mixture of the recipe."
    )
    train_tokenizer_again: bool = Field(False, description="Train a tokenizer although one is pinned, and pin it.")


def line_job_name(dataset: str) -> str:
    """Return the name of the job, unique in the code location."""
    return f"{plain_name(dataset)}__line__job"


def line_job(corpus: Corpus) -> dg.JobDefinition:
    """Return the job. Its ops have the names of the stages and depend on each other as the stages do."""

    @dg.job(
        name=line_job_name(corpus.dataset),
        description=DESCRIPTION,
        resource_defs={ASKED: Asked.configure_at_launch()},
        # Set here too, so that a recorded run has exactly the snapshot of the job that the UI loads.
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        made: dict[str, Any] = {}
        for stage in stages_of(corpus.recipe):
            reads = [made[upstream.name] for upstream in upstream_of(stage, corpus.recipe)]
            op = _op(corpus, stage, after_others=bool(reads)).alias(stage.name)
            made[stage.name] = op(upstream=reads) if reads else op()

    return job


def config_of(steps: Sequence[Step], *, train_tokenizer_again: bool) -> dict[str, Any]:
    """Return the config with which the job runs exactly `steps`."""
    by_kind = {kind: sorted({step.partition for step in steps if step.stage.kind is kind}) for kind in Kind}
    asked = {"references": by_kind[Kind.REPOSITORY], "mixtures": by_kind[Kind.MIXTURE]}
    again = {"train_tokenizer_again": True} if train_tokenizer_again else {}
    return {"resources": {ASKED: {"config": {**{key: value for key, value in asked.items() if value}, **again}}}}


def _op(corpus: Corpus, stage: Stage, *, after_others: bool) -> dg.OpDefinition:
    root, dataset = corpus.root, corpus.dataset

    @dg.op(
        name=f"{plain_name(dataset)}__line__{stage.name}",
        description=stage.description,
        ins={"upstream": dg.In(dg.Nothing)} if after_others else {},
        out=dg.Out(dg.Nothing),
        required_resource_keys={ASKED},
    )
    def make(context: dg.OpExecutionContext) -> None:
        from megacpp_assets.defs.body import require_requested, run_stage

        asked: Asked = getattr(context.resources, ASKED)
        partitions = {Kind.REPOSITORY: asked.references, Kind.MIXTURE: asked.mixtures, Kind.DATASET: None}[stage.kind]
        retrain = asked.train_tokenizer_again and stage.name == TOKENIZER
        try:
            present = open_corpus(root, dataset)
            require_requested(present, asked.references or (), asked.mixtures or ())
            run_stage(present, stage, partitions, context, retrain=retrain)
        except MegacppError as error:
            raise dg.Failure(str(error), allow_retries=False) from None

    return make
