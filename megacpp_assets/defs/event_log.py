"""What Dagster's own event log says was materialized; the audit compares manifests with it.

The log is read as the database that it is: loading Dagster takes two CPU seconds, and an audit less than one. A test
holds what is read here against what Dagster itself says.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.defs.showing.paths import EARLIER_METADATA, MANIFEST_METADATA, home_of, path_of
from megacpp_assets.lineage.audit import EventLog

_MATERIALIZATIONS: Final = """
    SELECT event FROM event_logs LEFT JOIN asset_keys USING (asset_key)
    WHERE asset_key = ? AND dagster_event_type = 'ASSET_MATERIALIZATION' AND partition IS ?
    AND (wipe_timestamp IS NULL OR event_logs.timestamp > wipe_timestamp)
"""


@contextmanager
def event_log(root: Path) -> Iterator[EventLog]:
    """A function (dataset, stage, partition) -> manifest hashes of every materialization that Dagster recorded for it.

    Nothing is written, not even where there is no log yet: then there are none. `DiskFailure` for a log that cannot be
    read.
    """
    database = home_of(root) / "history" / "runs" / "index.db"
    if not database.is_file():
        yield lambda dataset, stage, partition: set()
        return
    try:
        with closing(_connect(database)) as connection:
            yield lambda *step: _recorded(connection, *step)
    except sqlite3.Error as error:
        do = "restore it, or remove dagster/ and run again: the log is written anew from manifests and receipts"
        raise DiskFailure(f"{database}", expected="Dagster's event log", found=str(error), do=do) from error


def _connect(database: Path) -> sqlite3.Connection:
    """A connection that only reads. Without the right to write it would leave SQLite's own files behind; where a disk
    refuses that right, nobody else writes either.
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


def _recorded(connection: sqlite3.Connection, dataset: str, stage: str, partition: str) -> set[str]:
    path, shown = path_of(dataset, stage, partition)
    rows = connection.execute(_MATERIALIZATIONS, (json.dumps(path), shown))
    return {sha256 for (event,) in rows for sha256 in _hashes(orjson.loads(event))}


def _hashes(event: dict[str, Any]) -> Iterator[str]:
    """Of the artifact, and of the checkpoints that were saved on the way to it."""
    made = event["dagster_event"]["event_specific_data"]["materialization"]
    for entry in made["metadata_entries"]:
        if entry["label"] in (MANIFEST_METADATA, EARLIER_METADATA):
            yield from entry["entry_data"]["text"].split()
