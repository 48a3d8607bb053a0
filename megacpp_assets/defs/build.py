"""The definitions of a data root: every dataset of its `corpus.lock`. Loading them imports no torch and scans no
folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.assets import build_asset
from megacpp_assets.defs.automate.automation import automation_of, bucket_automation
from megacpp_assets.defs.keys import REPORTS_GROUP, STAGING_GROUP, asset_key
from megacpp_assets.defs.line_job import line_job
from megacpp_assets.defs.reports.assets import REPORTS_JOB, build_reports
from megacpp_assets.defs.segments import job_name, segments
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.storage.root.lock_file import read_lock

_NO_CONFIG: Final = (
    "The launchpad's config stays empty: settings belong to the recipe. `megacpp recipe show` prints them, "
    "`megacpp run --set KEY=VALUE` changes one."
)


def build_definitions(root: Path) -> dg.Definitions:
    """Return the graphs of all datasets of `root`; empty if nothing is pinned yet. `LineageGap` if `corpus.lock` is
    malformed.
    """
    corpora = [open_corpus(root, dataset) for dataset in sorted(read_lock(root).datasets)]
    automations = [automation_of(corpus) for corpus in corpora]
    bucket_sensors, resources = bucket_automation(root)
    return dg.Definitions(
        assets=[
            *(build_asset(corpus, segment) for corpus in corpora for segment in segments(corpus)),
            *([build_reports(root, corpora)] if corpora else []),
        ],
        jobs=[
            *(job for corpus in corpora for job in _jobs(corpus)),
            *(job for each in automations for job in each.jobs),
            *([_reports_job()] if corpora else []),
        ],
        sensors=[*(sensor for each in automations for sensor in each.sensors), *bucket_sensors],
        resources=resources,
        schedules=[schedule for each in automations for schedule in each.schedules],
        executor=dg.in_process_executor,
    )


def _jobs(corpus: Corpus) -> Iterator[dg.JobDefinition | dg.UnresolvedAssetJobDefinition]:
    """Yield the job of the whole line, then a job for each body."""
    yield line_job(corpus)
    for segment in segments(corpus):
        keys = [asset_key(corpus.dataset, stage.name, segment.phase) for stage in segment.stages]
        yield dg.define_asset_job(
            job_name(corpus.dataset, segment),
            selection=dg.AssetSelection.assets(*keys),
            description=f"Runs {', '.join(stage.name for stage in segment.stages)} over partitions. {_NO_CONFIG}",
        )


def _reports_job() -> dg.UnresolvedAssetJobDefinition:
    """Return the job that builds all reports."""
    selection = dg.AssetSelection.groups(REPORTS_GROUP, STAGING_GROUP)
    description = (
        "All tables across partitions, with their tests, as `megacpp quality` builds them. It has no settings."
    )
    return dg.define_asset_job(REPORTS_JOB, selection=selection, description=description)
