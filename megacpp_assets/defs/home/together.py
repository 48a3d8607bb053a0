"""Writes the events of one step together, so that the disk is waited for once and not for each event.

If a power cut loses events, the next run records them again, because it looks for each step in the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import dagster as dg
from sqlalchemy import Engine, event

from megacpp_assets.defs.dagster_private import INDEX_SHARD_NAME, SqliteEventLogStorage


@contextmanager
def written_together(instance: dg.DagsterInstance, run_id: str) -> Iterator[None]:
    """Within the block, write the events of the run together if SQLite holds the log."""
    storage = instance.event_log_storage
    if not isinstance(storage, SqliteEventLogStorage):
        yield
        return
    with ExitStack() as held:
        event.listen(Engine, "connect", _relax)
        held.callback(event.remove, Engine, "connect", _relax)
        # Dagster opens a connection for each statement, and the last one to close waits for all that was written.
        for shard in (INDEX_SHARD_NAME, run_id):
            connection = held.enter_context(closing(sqlite3.connect(storage.path_for_shard(shard))))
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield


def _relax(connection: Any, _record: Any) -> None:
    """Set what SQLite advises for this journal: a crash of the machine costs the last events, never the database."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = NORMAL")
