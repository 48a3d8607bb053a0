"""The automation of each dataset: a sensor of upstream's tags, and two nightly runs.

All are stopped until somebody starts them: one by one in the UI, or all with `megacpp ui --automate`.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as values.
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.defs.keys import plain_name, repo_partitions
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.storage.bucket.binding import binding_of

AUTOMATE_VARIABLE = "MEGACPP_AUTOMATE"
"""If this variable is set, sensors and schedules run unless they were stopped in the UI."""
_POLL_SECONDS = 300
"""Seconds between two ticks of the sensor, each of which asks one repository."""


@dataclass(frozen=True, slots=True)
class Automation:
    """The sensors, schedules and jobs of one dataset."""

    jobs: tuple[dg.JobDefinition, ...]
    sensors: tuple[dg.SensorDefinition, ...]
    schedules: tuple[dg.ScheduleDefinition, ...]


def automation_of(corpus: Corpus) -> Automation:
    """Return the automation of one dataset."""
    releases = _job(corpus, "releases", "All stages of a repository for one NAME@REF.", of_a_release=True)
    tips = _job(corpus, "tips", "Pins what the branches followed as tip name now, beside what it read.")
    rest = _job(corpus, "backfill", "Rebuilds missing or outdated partitions: repositories first, then mixtures.")
    nightly = (_nightly(corpus, "tips", "0 3 * * *", tips), _nightly(corpus, "backfill", "0 4 * * *", rest))
    jobs = (releases, tips, rest)
    return Automation(jobs, (_sensor(corpus, releases), *_alert_sensors(corpus, jobs)), nightly)


def _job(corpus: Corpus, work: str, description: str, *, of_a_release: bool = False) -> dg.JobDefinition:
    """Return a job with one op that brings the dataset up to date as the command line does.

    It is not a job of assets: what it makes is known only after it has asked upstream and promoted.
    """
    root, dataset = corpus.root, corpus.dataset

    @dg.op(name=f"{plain_name(dataset)}__{work}", description=description)
    def body(context: dg.OpExecutionContext) -> None:
        from megacpp_assets.defs.automate import nightly

        try:
            nightly.WORK[work](open_corpus(root, dataset), context)
        except MegacppError as error:
            raise dg.Failure(str(error), allow_retries=False) from None

    partitions = repo_partitions(dataset) if of_a_release else None

    @dg.job(name=f"{plain_name(dataset)}__{work}__job", description=description, partitions_def=partitions)
    def job() -> None:
        body()

    return job


def _sensor(corpus: Corpus, job: dg.JobDefinition) -> dg.SensorDefinition:
    root, dataset = corpus.root, corpus.dataset

    @dg.sensor(
        name=f"{plain_name(dataset)}__releases",
        job=job,
        minimum_interval_seconds=_POLL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if _automated() else dg.DefaultSensorStatus.STOPPED,
        description="Asks one repository after another for releases later than the one that mixtures read. Pins them "
        "as further references and requests their runs; again where the last one was cancelled. Reports a tag that "
        "moved, and never builds it again.",
    )
    def releases(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        from megacpp_assets.defs.alerting import Alerts
        from megacpp_assets.defs.automate.polling import Cancelled, poll

        corpus = open_corpus(root, dataset)
        alerts, cancelled = Alerts(corpus, context.instance, context.log), Cancelled(context.instance, job.name)
        return poll(corpus, context.cursor or "", context.log, alerts, cancelled)

    return releases


def _alert_sensors(corpus: Corpus, jobs: Sequence[dg.JobDefinition]) -> tuple[dg.SensorDefinition, ...]:
    """Return the sensor of failed runs; none if the recipe names no hook."""
    if not corpus.recipe.alerts.is_set:
        return ()
    from megacpp_assets.defs.alerting import failure_sensor

    return (failure_sensor(corpus, jobs),)


def _nightly(corpus: Corpus, work: str, cron: str, job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Return a schedule that runs `job` at `cron`, in UTC."""
    status = dg.DefaultScheduleStatus.RUNNING if _automated() else dg.DefaultScheduleStatus.STOPPED
    return dg.ScheduleDefinition(
        name=f"{plain_name(corpus.dataset)}__{work}",
        job=job,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=status,
        description=job.description,
    )


def bucket_automation(root: Path) -> tuple[tuple[dg.SensorDefinition, ...], dict[str, object]]:
    """Return the sensors of a data root in a bucket, and the resources that they need. Other roots have none."""
    if binding_of(root) is None:
        return (), {}
    from megacpp_assets.defs.automate.pulling import RESOURCES, pull_sensor

    return (pull_sensor(root),), dict(RESOURCES)


def _automated() -> bool:
    return bool(os.environ.get(AUTOMATE_VARIABLE))
