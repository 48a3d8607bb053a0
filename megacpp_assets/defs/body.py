"""The bodies of assets. They are imported only when an asset is materialized, so that listing the graph stays cheap."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.defs.alerting import Alerts
from megacpp_assets.defs.keys import partition_of, register, shown_asset, unregister
from megacpp_assets.defs.recording.records import recording
from megacpp_assets.defs.recording.watch import LogWatch
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.missing import missing_inputs
from megacpp_assets.pipeline.pins.pinning import add_references
from megacpp_assets.pipeline.pins.promotion import promote_by_policy
from megacpp_assets.pipeline.run import machine_budget, run_steps
from megacpp_assets.pipeline.stages import STAGES, Kind, Stage
from megacpp_assets.pipeline.steps import step_of


def run_selected(
    corpus: Corpus, keys: Sequence[dg.AssetKey], partitions: Sequence[str | None], context: dg.AssetExecutionContext
) -> None:
    """Run the steps of the assets `keys` over `partitions`, as `megacpp run` does. None stands for a stage's only
    partition.
    """
    of_repositories = STAGES[keys[0].path[-1]].kind is Kind.REPOSITORY
    if of_repositories:
        corpus = with_known_references(corpus, context.partition_keys, context.instance)
    register(context.instance, corpus.dataset, corpus.known_refs)
    steps = [step_of(corpus, *partition_of(corpus.dataset, key, partition)) for key in keys for partition in partitions]
    for missing in missing_inputs(corpus, steps):
        raise missing.gap(shown_asset(missing.step))
    with recording(context) as records:
        run_steps(corpus, steps, LogWatch(context.log), records, machine_budget())
    if of_repositories:
        apply_promotion_policy(corpus, context.instance, context.log)


def run_stage(
    corpus: Corpus,
    stage: Stage,
    partitions: Sequence[str] | None,
    context: dg.OpExecutionContext,
    *,
    retrain: bool,
) -> None:
    """Run the steps of one stage; without `partitions` those that the dataset's mixtures need."""
    if stage.kind is Kind.REPOSITORY and partitions:
        corpus = with_known_references(corpus, partitions, context.instance)
    register(context.instance, corpus.dataset, corpus.known_refs)
    mixtures = corpus.mixtures(corpus.specialists, corpus.recipe.curriculum)
    every = {
        Kind.REPOSITORY: [repo.key for repo in corpus.repo_refs],
        Kind.DATASET: [corpus.dataset],
        Kind.MIXTURE: [mixture.key for mixture in mixtures],
    }
    steps = [step_of(corpus, stage.name, partition) for partition in partitions or every[stage.kind]]
    for missing in missing_inputs(corpus, steps):
        raise missing.gap(shown_asset(missing.step))
    with recording(context) as records:
        run_steps(corpus, steps, LogWatch(context.log), records, machine_budget(), retrain=retrain)


def require_requested(corpus: Corpus, references: Sequence[str], mixtures: Sequence[str]) -> None:
    """Raise `SpecError` for a key that can be no partition. Otherwise hours of other partitions may come before it.

    Whether a repository has a new reference is asked where the first stage pins it.
    """
    for key in references:
        corpus.lock.pin(RepoRef.parse(key).name)
    for key in mixtures:
        corpus.mixture(Mixture.parse(key).key)


def apply_promotion_policy(corpus: Corpus, instance: dg.DagsterInstance, log: dg.DagsterLogManager) -> Corpus:
    """Apply the promotion policy of the recipe, log what was promoted and rejected, report rejections to the hooks,
    and return the corpus.
    """
    corpus, promoted, rejected = promote_by_policy(open_corpus(corpus.root, corpus.dataset))
    for key in promoted:
        log.info(f"{key}: promoted")
    for error in rejected:
        log.warning(str(error))
    Alerts(corpus, instance, log).rejected(rejected)
    return corpus


def with_known_references(corpus: Corpus, partitions: Sequence[str], instance: dg.DagsterInstance) -> Corpus:
    """Return the corpus with `partitions` pinned: a person may add `NAME@REF` in the UI and materialize it.

    `SpecError` for a key of another form, for a reference that upstream lacks, and for one that can move. Such a
    partition is removed from Dagster, where it would stay failed for ever.
    """
    known = {repo.key for repo in corpus.known_refs}
    unknown = [key for key in partitions if key not in known]
    if not unknown:
        return corpus
    try:
        for key in unknown:
            RepoRef.parse(key)
        corpus, made = add_references(corpus, unknown)
        register(instance, corpus.dataset, made)
        for key, repo in zip(unknown, made, strict=True):
            _require_fixed(key, repo)
    except SpecError:
        unregister(instance, corpus.dataset, unknown)
        raise
    return corpus


def _require_fixed(key: str, repo: RepoRef) -> None:
    if repo.key != key:
        raise SpecError(
            f"partition {key}",
            expected="a tag or a full commit id, which cannot move",
            found=f"a name for commit {repo.key} today",
            do=f"materialize the partition {repo.key}, which has just been added in its place",
        )
