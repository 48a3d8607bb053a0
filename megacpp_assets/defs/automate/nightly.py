"""The nightly runs: pin the present commits of tips; rebuild what is missing or outdated of every reference and
mixture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.defs.body import apply_promotion_policy, with_known_references
from megacpp_assets.defs.keys import register
from megacpp_assets.defs.recording.records import recording
from megacpp_assets.defs.recording.watch import LogWatch
from megacpp_assets.pipeline.pins.pinning import add_references
from megacpp_assets.pipeline.run import machine_budget, run_plan
from megacpp_assets.pipeline.steps import RunPlan
from megacpp_assets.repos.pins import TIP


def make_release(corpus: Corpus, context: dg.OpExecutionContext) -> None:
    """Build all stages of a repository for the run's partition, and promote it if the recipe's policy allows."""
    corpus = with_known_references(corpus, [context.partition_key], context.instance)
    _make(corpus, (RepoRef.parse(context.partition_key),), context)
    apply_promotion_policy(corpus, context.instance, context.log)


def follow_tips(corpus: Corpus, context: dg.OpExecutionContext) -> None:
    """Build the present commit of each branch that was pinned as a tip. Mixtures keep reading the earlier one."""
    tips = [f"{pin.name}@{TIP}" for pin in corpus.lock.repos if pin.ref.startswith(f"{TIP}-")]
    if not tips:
        context.log.info("no repository is pinned at a tip")
        return
    corpus, found = add_references(corpus, tips)
    _make(corpus, found, context)


def build_outdated(corpus: Corpus, context: dg.OpExecutionContext) -> None:
    """Build what is missing or outdated of every known reference, promote by the recipe's policy, then build the
    mixtures.

    A reference that fails does not stop the mixtures. Its error is raised at the end. If the mixtures then fail too,
    often for want of what failed before, their error is logged.
    """
    failures = []
    try:
        _make(corpus, corpus.known_refs, context)
    except MegacppError as error:
        failures.append(error)
    try:
        corpus = apply_promotion_policy(corpus, context.instance, context.log)
        _run(corpus, RunPlan(corpus.mixtures(corpus.specialists, corpus.recipe.curriculum)), context)
    except MegacppError as error:
        failures.append(error)
    for later in failures[1:]:
        context.log.error(str(later))
    if failures:
        raise failures[0]


def _make(corpus: Corpus, refs: tuple[RepoRef, ...], context: dg.OpExecutionContext) -> None:
    register(context.instance, corpus.dataset, refs)
    _run(corpus, RunPlan((), refs=refs), context)


def _run(corpus: Corpus, plan: RunPlan, context: dg.OpExecutionContext) -> None:
    with recording(context) as records:
        run_plan(corpus, plan, LogWatch(context.log), records, machine_budget())


WORK: Final[Mapping[str, Callable[[Corpus, dg.OpExecutionContext], None]]] = {
    "releases": make_release,
    "tips": follow_tips,
    "backfill": build_outdated,
}
