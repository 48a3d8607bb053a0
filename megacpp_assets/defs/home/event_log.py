"""Reads from Dagster's event log what was materialized. The audit compares manifests with it.

The log is read as a database, SQLite or Postgres: loading Dagster takes two CPU seconds, and an audit less than one. A
test compares the answers with Dagster's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson
from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Select,
    column,
    create_engine,
    func,
    inspect,
    or_,
    select,
    table,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.defs.home.database import connect, postgres_url, unreachable
from megacpp_assets.defs.showing.paths import (
    DATA_VERSION_TAG,
    EARLIER_METADATA,
    HASHES_METADATA,
    MANIFEST_METADATA,
    home_of,
    path_of,
)
from megacpp_assets.lineage.audit import EventLog

_EVENTS: Final = table(
    "event_logs",
    *(column(name) for name in ("id", "event", "dagster_event_type", "timestamp", "asset_key", "partition")),
)
_ASSETS: Final = table("asset_keys", column("asset_key"), column("wipe_timestamp"))
_TAGS: Final = table("asset_event_tags", *(column(name) for name in ("event_id", "asset_key", "key", "value")))


@dataclass(frozen=True, slots=True)
class _Log:
    """The event log in a database. It is empty if it was never written."""

    connection: Connection | None

    def has(self, step: tuple[str, str, str], manifest_sha256: str) -> bool:
        # Dagster's index of tags: one event is read, however many a step has.
        tagged = _EVENTS.c.id.in_(_tagged(step, manifest_sha256))
        # Checkpoints that were saved before the recorded one have no tag.
        untagged = _EVENTS.c.event.contains(manifest_sha256, autoescape=True)
        events = chain.from_iterable(
            self._ask(_materializations(step, _EVENTS.c.event).where(which).order_by(_EVENTS.c.id.desc()))
            for which in (tagged, untagged)
        )
        # An event may contain the hash in another role.
        return any(manifest_sha256 in _hashes(orjson.loads(event)) for (event,) in events)

    def count(self, step: tuple[str, str, str]) -> int:
        return sum(number for (number,) in self._ask(_materializations(step, func.count())))

    def _ask(self, query: Select[Any]) -> Iterator[Any]:
        """Run a query. Nothing is read before the first row is requested."""
        if self.connection is not None:
            yield from self.connection.execute(query)


def _materializations(step: tuple[str, str, str], what: ColumnElement[Any]) -> Select[Any]:
    """Return the query of `what` over the materializations of the step that nobody wiped."""
    key, partition = path_of(*step)
    not_wiped = or_(_ASSETS.c.wipe_timestamp.is_(None), _EVENTS.c.timestamp > _ASSETS.c.wipe_timestamp)
    return (
        select(what)
        .select_from(_EVENTS.outerjoin(_ASSETS, _EVENTS.c.asset_key == _ASSETS.c.asset_key))
        .where(_EVENTS.c.asset_key == json.dumps(key), _EVENTS.c.partition.is_not_distinct_from(partition))
        .where(_EVENTS.c.dagster_event_type == "ASSET_MATERIALIZATION", not_wiped)
    )


def _tagged(step: tuple[str, str, str], manifest_sha256: str) -> Select[Any]:
    """Return the query of the ids of events whose data version is the manifest's hash."""
    key, _ = path_of(*step)
    named = (_TAGS.c.asset_key == json.dumps(key), _TAGS.c.key == DATA_VERSION_TAG, _TAGS.c.value == manifest_sha256)
    return select(_TAGS.c.event_id).where(*named)


@contextmanager
def event_log(root: Path) -> Iterator[EventLog]:
    """Open the event log of `root` for the block, read-only. It is empty if none was written yet.

    `DiskFailure` if the file of SQLite cannot be read, `DatabaseUnreachable` if the server of Postgres does not answer.
    """
    url = postgres_url(root)
    with _server_log(url) if url is not None else _file_log(root) as log:
        yield log


@contextmanager
def _server_log(url: URL) -> Iterator[_Log]:
    try:
        with connect(url, "-c default_transaction_read_only=on") as connection:
            yield _Log(connection if inspect(connection).has_table(_EVENTS.name) else None)
    except DBAPIError as error:
        raise unreachable(url, error) from error


@contextmanager
def _file_log(root: Path) -> Iterator[_Log]:
    database = home_of(root) / "history" / "runs" / "index.db"
    if not database.is_file():
        yield _Log(None)
        return
    try:
        with _open_file(database) as connection:
            yield _Log(connection)
    except DBAPIError as error:
        do = "restore it, or remove dagster/ and run again: the log is written anew from manifests and receipts"
        raise DiskFailure(f"{database}", expected="Dagster's event log", found=str(error.orig), do=do) from error


def _open_file(database: Path) -> Connection:
    """Return a read-only connection.

    SQLite would leave files of its own where this process may not write. Where the disk rejects writes, nobody else
    writes, and the database is opened as immutable.
    """
    failure: DBAPIError
    for mode in ({"mode": "rw"}, {"mode": "ro", "immutable": "1"}):
        url = URL.create("sqlite", database=database.resolve().as_uri(), query={**mode, "uri": "true"})
        try:
            connection = create_engine(url, poolclass=NullPool).connect()
            connection.exec_driver_sql("PRAGMA query_only = ON")
            connection.execute(select(_EVENTS.c.id).limit(1))
            return connection
        except DBAPIError as error:
            failure = error
    raise failure


def _hashes(event: dict[str, Any]) -> Iterator[str]:
    """Yield the hashes of the artifact and of the checkpoints that its run saved before."""
    made = event["dagster_event"]["event_specific_data"]["materialization"]
    for entry in made["metadata_entries"]:
        label, value = entry["label"], entry["entry_data"]
        if label == HASHES_METADATA:
            yield value["data"][MANIFEST_METADATA]
            yield from value["data"][EARLIER_METADATA]
        elif label in (MANIFEST_METADATA, EARLIER_METADATA):
            yield from value["text"].split()
