"""Reads from Dagster's event log what was materialized. The audit compares manifests with it.

The log is read as a database: loading Dagster takes two CPU seconds, and an audit less than one. A test compares the
answers with Dagster's own.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.defs.showing.paths import DATA_VERSION_TAG, EARLIER_METADATA, MANIFEST_METADATA, home_of, path_of
from megacpp_assets.lineage.audit import EventLog

_MATERIALIZATIONS: Final = """
    FROM event_logs LEFT JOIN asset_keys USING (asset_key)
    WHERE asset_key = ? AND dagster_event_type = 'ASSET_MATERIALIZATION' AND partition IS ?
    AND (wipe_timestamp IS NULL OR event_logs.timestamp > wipe_timestamp)
"""
_COUNT: Final = f"SELECT count(*) {_MATERIALIZATIONS}"
_WITH_TAG: Final = "(SELECT event_id FROM asset_event_tags WHERE asset_key = ? AND key = ? AND value = ?)"
_TAGGED: Final = f"SELECT event {_MATERIALIZATIONS} AND event_logs.id IN {_WITH_TAG}"
"""Uses Dagster's index of tags, so that one event is read, however many a step has."""
_UNTAGGED: Final = f"SELECT event {_MATERIALIZATIONS} AND instr(event, ?) ORDER BY event_logs.id DESC"
"""Checkpoints that were saved before the recorded one have no tag."""


@dataclass(frozen=True, slots=True)
class _Log:
    """The event log in a database. It is empty if it was never written."""

    connection: sqlite3.Connection | None

    def has(self, step: tuple[str, str, str], manifest_sha256: str) -> bool:
        key, _ = path_of(*step)
        tagged = self._ask(_TAGGED, step, json.dumps(key), DATA_VERSION_TAG, manifest_sha256)
        events = chain(tagged, self._ask(_UNTAGGED, step, manifest_sha256))
        # An event may contain the hash in another role.
        return any(manifest_sha256 in _hashes(orjson.loads(event)) for (event,) in events)

    def count(self, step: tuple[str, str, str]) -> int:
        return sum(number for (number,) in self._ask(_COUNT, step))

    def _ask(self, query: str, step: tuple[str, str, str], *more: str) -> Iterator[tuple[Any, ...]]:
        """Run a query. Nothing is read before the first row is requested."""
        if self.connection is not None:
            key, partition = path_of(*step)
            yield from self.connection.execute(query, (json.dumps(key), partition, *more))


@contextmanager
def event_log(root: Path) -> Iterator[EventLog]:
    """Open the event log of `root` for the block. `DiskFailure` if it cannot be read.

    Nothing is written. If no log exists yet, it is empty.
    """
    database = home_of(root) / "history" / "runs" / "index.db"
    if not database.is_file():
        yield _Log(None)
        return
    try:
        with closing(_connect(database)) as connection:
            yield _Log(connection)
    except sqlite3.Error as error:
        do = "restore it, or remove dagster/ and run again: the log is written anew from manifests and receipts"
        raise DiskFailure(f"{database}", expected="Dagster's event log", found=str(error), do=do) from error


def _connect(database: Path) -> sqlite3.Connection:
    """Return a read-only connection.

    SQLite would leave files of its own where this process may not write. Where the disk rejects writes, nobody else
    writes, and the database is opened as immutable.
    """
    for mode in ("mode=rw", "mode=ro&immutable=1"):
        connection = sqlite3.connect(f"{database.resolve().as_uri()}?{mode}", uri=True)
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT 1 FROM event_logs LIMIT 1")
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            failure = error
    raise failure


def _hashes(event: dict[str, Any]) -> Iterator[str]:
    """Yield the hashes of the artifact and of the checkpoints that its run saved before."""
    made = event["dagster_event"]["event_specific_data"]["materialization"]
    for entry in made["metadata_entries"]:
        if entry["label"] in (MANIFEST_METADATA, EARLIER_METADATA):
            yield from entry["entry_data"]["text"].split()
