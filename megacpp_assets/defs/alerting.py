"""Alerts under Dagster: each is delivered once, however many daemons and runs meet the same event.

What was delivered is noted in Dagster's database, beside the cursors of its daemons: machines that share a Postgres
server share it.
"""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as values.
import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import AlertUndelivered, MegacppError
from megacpp_assets.defs.dagster_private import WILL_RETRY_TAG
from megacpp_assets.defs.keys import plain_name
from megacpp_assets.pipeline.alerts import Alert, AlertKind, deliver
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pins.releases import Moved
from megacpp_assets.storage.root.locks import in_turn

_LOCK: Final = "alerts"
_NOTE: Final = "megacpp/alert/"
_POLL_SECONDS: Final = 60
_OVERLAP: Final = timedelta(minutes=10)
"""A run is looked for again in this time after its end: clocks of machines differ."""


class Alerts:
    """The hooks of a corpus. Without one nothing happens."""

    def __init__(self, corpus: Corpus, instance: dg.DagsterInstance, log: logging.Logger) -> None:
        self._corpus = corpus
        self._instance = instance
        self._log = log

    def moved(self, moved: Iterable[Moved]) -> None:
        """Tell of tags that moved, each time to another commit."""
        for each in moved:
            self._tell(AlertKind.MOVED_TAG, each.pin.partition.key, str(each))

    def rejected(self, errors: Iterable[MegacppError]) -> None:
        """Tell of releases that were not promoted, each with another reason."""
        for error in errors:
            self._tell(AlertKind.REJECTED_RELEASE, error.what, str(error))

    def failed(self, run: dg.DagsterRun) -> bool:
        """Tell of a run that failed; return whether the hooks know it now."""
        key = run.tags.get("dagster/partition", "")
        job = f"{run.job_name}{' ' + key if key else ''}"
        text = f"{job}: the run failed; what to do: look at the run {run.run_id} in the UI"
        return self._tell(AlertKind.FAILED_RUN, run.run_id, text)

    def _tell(self, kind: AlertKind, subject: str, text: str) -> bool:
        recipe = self._corpus.recipe.alerts
        if not recipe.is_set:
            return True
        alert = Alert(kind, self._corpus.dataset, subject, text)
        note = f"{_NOTE}{sha256_bytes(alert.body())}"
        # Another daemon of this machine may be about to send the same one.
        with in_turn(self._corpus.root, _LOCK, writes=True):
            if note in self._instance.daemon_cursor_storage.get_cursor_values({note}):
                return True
            try:
                deliver(alert, recipe)
            except AlertUndelivered as error:
                self._log.error(str(error))
                return False
            self._instance.daemon_cursor_storage.set_cursor_values({note: datetime.now(UTC).isoformat()})
        return True


def failure_sensor(corpus: Corpus, jobs: Sequence[dg.JobDefinition]) -> dg.SensorDefinition:
    """Return the sensor that tells of failed runs of `jobs`. It runs unless it is stopped in the UI."""
    root, dataset, names = corpus.root, corpus.dataset, [job.name for job in jobs]

    @dg.sensor(
        name=f"{plain_name(dataset)}__alerts",
        minimum_interval_seconds=_POLL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Tells the hooks of [alerts] of each automatic run that failed and is not started again.",
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        began = datetime.now(UTC)
        first, since = _times(context.cursor or "", began)
        hooks = Alerts(open_corpus(root, dataset), context.instance, context.log)
        delivered = [hooks.failed(run) for run in _failed(context.instance, names, since)]
        # A failed delivery is tried again.
        after = max(first, began - _OVERLAP) if all(delivered) else since
        reason = f"{len(delivered)} failed runs since {since:%Y-%m-%d %H:%M}"
        return dg.SensorResult(skip_reason=reason, cursor=f"{first.isoformat()} {after.isoformat()}")

    return alerts


def _times(cursor: str, now: datetime) -> tuple[datetime, datetime]:
    """Return the time of the first tick, and that from which runs are looked for; at the first tick both are now."""
    try:
        first, since = map(datetime.fromisoformat, cursor.split())
    except ValueError:
        return now, now
    return first, since


def _failed(instance: dg.DagsterInstance, jobs: Sequence[str], since: datetime) -> list[dg.DagsterRun]:
    """Return all runs of `jobs` that failed since then, without those that Dagster starts again.

    There may be thousands after a long backfill without a daemon. If a tick runs out of time, the next one begins again
    and leaves out what is noted as delivered.
    """
    failed = [dg.DagsterRunStatus.FAILURE]
    found = [
        run
        for job in jobs
        for run in instance.get_runs(dg.RunsFilter(job_name=job, statuses=failed, updated_after=since))
    ]
    return [run for run in found if run.tags.get(WILL_RETRY_TAG) != "true"]
