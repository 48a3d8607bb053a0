"""Records `megacpp quality` in Dagster as a run of the reports' job, with materializations and checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import REPORTS
from megacpp_assets.defs.recording.events import Event, materialization, reported_check
from megacpp_assets.defs.recording.recorded_run import Command, RecordedRun, ending
from megacpp_assets.defs.reports.assets import REPORTS_JOB
from megacpp_assets.defs.reports.body import broken_tables, results_of
from megacpp_assets.reports.build import Build, build
from megacpp_assets.storage.root.lock_file import read_lock


def record_reports(root: Path) -> Build:
    """Build every table, and record it in Dagster as a run of the reports' job. The `Build` says what failed.

    If the lock names no dataset, Dagster has no jobs: then the tables are built and nothing is recorded.
    """
    if not read_lock(root).datasets:
        return build(root)
    command = Command(
        "megacpp quality",
        "quality",
        REPORTS_JOB,
        lambda: build_definitions(root).resolve_job_def(REPORTS_JOB),
        (REPORTS,),
    )
    with open_instance(root) as instance:
        run = RecordedRun(instance, command)
        with ending(run.end):
            report = build(root, lambda: run.start(REPORTS))
            for result in results_of(root, report):
                run.report(REPORTS, _events(result))
            if broken := broken_tables(report):
                run.fail(REPORTS, broken)
            else:
                run.succeed(REPORTS)
        return report


def _events(result: dg.MaterializeResult[None]) -> Iterator[Event]:
    """Yield the events that Dagster's executor would report for the result."""
    yield materialization(dg.AssetMaterialization(result.asset_key or "", metadata=result.metadata))
    yield from (reported_check(check) for check in result.check_results or ())
