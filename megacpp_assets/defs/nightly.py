"""What the nightly runs do: pin what tips name now, and make what is missing or stale of every known reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.defs.keys import register
from megacpp_assets.defs.records import DagsterRecords
from megacpp_assets.defs.watch import LogWatch
from megacpp_assets.pipeline.pinning import add_references
from megacpp_assets.pipeline.run import machine_budget, run_plan
from megacpp_assets.pipeline.steps import Plan
from megacpp_assets.repos.pins import TIP


def follow_tips(corpus: Corpus, context: dg.OpExecutionContext) -> None:
    """Make the present commit of each branch that was pinned as its tip, beside the one that mixtures read."""
    tips = [f"{pin.name}@{TIP}" for pin in corpus.lock.repos if pin.ref.startswith(f"{TIP}-")]
    if not tips:
        context.log.info("no repository is pinned at a tip")
        return
    corpus, found = add_references(corpus, tips)
    _make(corpus, found, context)


def make_the_rest(corpus: Corpus, context: dg.OpExecutionContext) -> None:
    """Make what is missing or stale of the stages of every known reference."""
    _make(corpus, corpus.known_refs, context)


def _make(corpus: Corpus, refs: tuple[RepoRef, ...], context: dg.OpExecutionContext) -> None:
    register(context.instance, corpus.dataset, refs)
    records = DagsterRecords(context.instance, context.run)
    run_plan(corpus, Plan((), refs=refs), LogWatch(context.log), records, machine_budget())


WORK: Final[Mapping[str, Callable[[Corpus, dg.OpExecutionContext], None]]] = {
    "tips": follow_tips,
    "backfill": make_the_rest,
}
