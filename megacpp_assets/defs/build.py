"""Definitions of a data root: every dataset of its `corpus.lock`, cheap to load (no torch, no folder scanning)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.assets import build_asset, segments
from megacpp_assets.defs.automate.automation import automation_of
from megacpp_assets.defs.keys import REPORTS, asset_key, plain_name
from megacpp_assets.defs.reports.assets import build_reports
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.storage.lock_file import read_lock


def build_definitions(root: Path) -> dg.Definitions:
    """The graphs of all datasets of `root`, side by side; empty where nothing is pinned yet.

    `LineageGap` if `corpus.lock` is not one of ours.
    """
    corpora = [open_corpus(root, dataset) for dataset in sorted(read_lock(root).datasets)]
    automations = [automation_of(corpus) for corpus in corpora]
    return dg.Definitions(
        assets=[
            *(build_asset(corpus, segment) for corpus in corpora for segment in segments(corpus)),
            *([build_reports(root, corpora)] if corpora else []),
        ],
        jobs=[
            *(job for corpus in corpora for job in _jobs(corpus)),
            *(job for each in automations for job in each.jobs),
            *([dg.define_asset_job(f"{REPORTS}__job", selection=dg.AssetSelection.groups(REPORTS))] if corpora else []),
        ],
        sensors=[sensor for each in automations for sensor in each.sensors],
        schedules=[schedule for each in automations for schedule in each.schedules],
        executor=dg.in_process_executor,
    )


def _jobs(corpus: Corpus) -> Iterator[dg.UnresolvedAssetJobDefinition]:
    """One job for each body: what can be launched over one kind of partition."""
    for segment in segments(corpus):
        keys = [asset_key(corpus.dataset, stage.name, segment.phase) for stage in segment.stages]
        yield dg.define_asset_job(
            f"{plain_name(corpus.dataset)}__{segment.name}__job", selection=dg.AssetSelection.assets(*keys)
        )
