"""One tick of the sensor of releases: ask one repository, pin and request what is new, report what moved.

The cursor holds the repository of the last tick and, for each handled reference, the commit that upstream named. It is
stored together with the requests, and each request has the commit in its key. So an interrupted tick loses no request
and repeats none. Where the last run of a release was cancelled, it is requested again, under a key that names that run.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.defs.alerting import Alerts
from megacpp_assets.defs.dagster_private import PARTITION_NAME_TAG
from megacpp_assets.defs.keys import asset_key, repo_partitions
from megacpp_assets.pipeline.pins.pinning import add_pins
from megacpp_assets.pipeline.pins.releases import Moved, Releases, find_releases, later_than
from megacpp_assets.pipeline.stages import REPOSITORY_STAGES

_MOST_REQUESTS = 4
"""Requests of one tick, oldest first. The others come at the repository's next turn."""


@dataclass(slots=True)
class _Cursor:
    asked: str = ""
    """The repository of the last tick."""
    seen: dict[str, str] = field(default_factory=dict)
    """`NAME@REF` -> the commit that upstream named when the reference was requested or reported."""

    @staticmethod
    def of(text: str) -> _Cursor:
        """Return the cursor of the last tick, or an empty one if a person has set it to something else."""
        try:
            raw = json.loads(text)
            return _Cursor(str(raw["asked"]), {str(key): str(value) for key, value in raw["seen"].items()})
        except (ValueError, KeyError, TypeError, AttributeError):
            return _Cursor()


class Cancelled:
    """The runs of a job that were cancelled."""

    def __init__(self, instance: dg.DagsterInstance, job: str) -> None:
        self._instance, self._job = instance, job

    def last_of(self, partition: str) -> str:
        """Return the id of the partition's last run if it was cancelled, else ""."""
        asked = dg.RunsFilter(job_name=self._job, tags={PARTITION_NAME_TAG: partition})
        last = next(iter(self._instance.get_runs(asked, limit=1)), None)
        return last.run_id if last and last.status is dg.DagsterRunStatus.CANCELED else ""


def poll(corpus: Corpus, text: str, log: logging.Logger, alerts: Alerts, cancelled: Cancelled) -> dg.SensorResult:
    """Ask the repository whose turn it is. A source that fails is reported, and the next tick asks the next one."""
    cursor = _Cursor.of(text)
    names = sorted(pin.name for pin in corpus.lock.repos if pin.git_ref.startswith("refs/tags/"))
    if not names:
        return dg.SensorResult(skip_reason="no repository is pinned at a tag")
    cursor.asked = next((name for name in names if name > cursor.asked), names[0])
    try:
        releases = find_releases(corpus, cursor.asked, ["*"])
    except MegacppError as error:
        log.error(str(error))
        return dg.SensorResult(skip_reason=str(error), cursor=json.dumps(asdict(cursor)))
    alerts.moved(releases.moved)
    return _answer(corpus, releases, cursor, log, cancelled)


def _answer(
    corpus: Corpus, releases: Releases, cursor: _Cursor, log: logging.Logger, cancelled: Cancelled
) -> dg.SensorResult:
    later = later_than(corpus.lock.pin(cursor.asked), releases.pins)
    run_keys = dict(islice(_run_keys(later, cursor, cancelled), _MOST_REQUESTS))
    wanted = list(run_keys)
    moved = [moved for moved in releases.moved if cursor.seen.get(moved.pin.partition.key) != moved.commit]
    add_pins(corpus, wanted)
    for each in moved:
        log.warning(str(each))
    cursor.seen |= {pin.partition.key: pin.commit for pin in wanted}
    cursor.seen |= {each.pin.partition.key: each.commit for each in moved}
    return dg.SensorResult(
        run_requests=[_request(corpus, pin, run_key) for pin, run_key in run_keys.items()],
        dynamic_partitions_requests=_partitions(corpus, wanted),
        asset_events=[_observation(corpus, each) for each in moved],
        cursor=json.dumps(asdict(cursor)),
    )


def _run_keys(later: Sequence[RepoPin], cursor: _Cursor, cancelled: Cancelled) -> Iterator[tuple[RepoPin, str]]:
    """Yield each release that is new, and each whose last run was cancelled, with the key of its request."""
    for pin in later:
        key = pin.partition.key
        if cursor.seen.get(key) != pin.commit:
            yield pin, f"{key} {pin.commit}"
        elif run := cancelled.last_of(key):
            yield pin, f"{key} {pin.commit} {run}"


def _request(corpus: Corpus, pin: RepoPin, run_key: str) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=run_key,
        partition_key=pin.partition.key,
        tags={"megacpp/dataset": corpus.dataset, "megacpp/commit": pin.commit},
    )


def _partitions(corpus: Corpus, pins: Sequence[RepoPin]) -> list[dg.AddDynamicPartitionsRequest]:
    keys = [pin.partition.key for pin in pins]
    return [repo_partitions(corpus.dataset).build_add_request(keys)] if keys else []


def _observation(corpus: Corpus, moved: Moved) -> dg.AssetObservation:
    """Return an observation, which the UI shows on the page of the partition whose tag moved."""
    return dg.AssetObservation(
        asset_key(corpus.dataset, REPOSITORY_STAGES[0]),
        partition=moved.pin.partition.key,
        description=str(moved),
        metadata={"pinned commit": moved.pin.commit, "upstream's commit": moved.commit, "tag": moved.pin.git_ref},
    )
