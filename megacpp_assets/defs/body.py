"""What an asset does when it is materialised, imported only then: listing the graph loads nothing that runs steps."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.defs.keys import partition_of, register
from megacpp_assets.defs.records import recording
from megacpp_assets.defs.watch import LogWatch
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pinning import add_references
from megacpp_assets.pipeline.promotion import promote_by_policy
from megacpp_assets.pipeline.run import machine_budget, run_steps
from megacpp_assets.pipeline.stages import STAGES, Kind
from megacpp_assets.pipeline.steps import step_of


def run_selected(
    corpus: Corpus, keys: Sequence[dg.AssetKey], partitions: Sequence[str | None], context: dg.AssetExecutionContext
) -> None:
    """Run the steps of the assets `keys` over `partitions` as `megacpp run` would; None is a stage's only partition."""
    of_repositories = STAGES[keys[0].path[-1]].kind is Kind.REPOSITORY
    if of_repositories:
        corpus = knowing(corpus, context.partition_keys, context.instance)
    register(context.instance, corpus.dataset, corpus.known_refs)
    steps = [step_of(corpus, *partition_of(corpus.dataset, key, partition)) for key in keys for partition in partitions]
    with recording(context.instance, context.run) as records:
        run_steps(corpus, steps, LogWatch(context.log), records, machine_budget())
    if of_repositories:
        tell_promotions(corpus, context.log)


def tell_promotions(corpus: Corpus, log: dg.DagsterLogManager) -> Corpus:
    """The corpus after the policy of its recipe, and the log with what was promoted and what was not."""
    corpus, promoted, refused = promote_by_policy(open_corpus(corpus.root, corpus.dataset))
    for key in promoted:
        log.info(f"{key}: promoted")
    for error in refused:
        log.warning(str(error))
    return corpus


def knowing(corpus: Corpus, partitions: Sequence[str], instance: dg.DagsterInstance) -> Corpus:
    """The corpus that knows `partitions`: a person may add `NAME@REF` in the UI and materialise it.

    `SpecError` for a key that is none, or that names what moves; the error says which key stays.
    """
    known = {repo.key for repo in corpus.known_refs}
    unknown = [key for key in partitions if key not in known]
    if not unknown:
        return corpus
    for key in unknown:
        RepoRef.parse(key)
    corpus, made = add_references(corpus, unknown)
    for key, repo in zip(unknown, made, strict=True):
        if repo.key != key:
            register(instance, corpus.dataset, made)
            raise SpecError(
                f"partition {key}",
                expected="a tag or a full commit id, which cannot move",
                found=f"what names commit {repo.key} now",
                do=f"materialise the partition {repo.key}, which has just been added",
            )
    return corpus
