"""Dagster's database, in the data root even if DAGSTER_HOME is not set. It rejects malformed partition keys.

Without it `dagster dev` or `dagster asset materialize` would delete at their end what they recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, NullPool, create_engine

from megacpp_assets.defs.dagster_private import (
    ConfigurableClassData,
    DagsterSqliteStorage,
    DagsterStorage,
    SqliteEventLogStorage,
    SqliteRunStorage,
)
from megacpp_assets.defs.home.database import postgres_url
from megacpp_assets.defs.home.instance import served_root
from megacpp_assets.defs.home.launches import CheckedPartitions, CheckedRuns
from megacpp_assets.defs.showing.paths import home_of

_LOCK_SECONDS: Final = 30
"""How long a statement waits for the lock of another process, as in Dagster's own event log."""


class DataRootStorage(DagsterSqliteStorage):
    """SQLite in the home of the data root that this process serves, or the Postgres server that the root names."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        root = Path(base_dir).parent
        events = _EventLog(self._event_log_storage._base_dir, root)
        self._run_storage = _Runs(self._run_storage._conn_string, root, events.get_dynamic_partitions)
        self._event_log_storage = events

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """No settings: the environment names the data root."""
        return {}

    @classmethod
    def from_config_value(  # type: ignore[override]  # Dagster itself checks nothing but that it is a storage
        cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]
    ) -> DagsterStorage:  # type: ignore[type-arg]
        """Dagster calls this with the settings, which are empty."""
        root = served_root()
        url = postgres_url(root)
        if url is None:
            return cls(str(home_of(root)), inst_data)
        from megacpp_assets.defs.home.postgres import PostgresStorage

        return PostgresStorage(url, root, inst_data)


@lru_cache(maxsize=64)
def _engine(url: str) -> Engine:
    """Return the process's one engine for a database. It keeps compiled statements, and no connection.

    Dagster makes a new engine for each statement and compiles the statement anew, which is most of what an event costs.
    """
    return create_engine(url, poolclass=NullPool, connect_args={"timeout": _LOCK_SECONDS})


class _Runs(CheckedRuns, SqliteRunStorage):
    """The table of runs, through the process's one engine."""

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open a transaction."""
        with _engine(self._conn_string).begin() as connection:
            yield connection


class _EventLog(CheckedPartitions, SqliteEventLogStorage):
    """The event log, through the process's one engine for each of its databases.

    Dagster itself accepts any text as a partition, from its dialog, its API and its sensors, and keeps it.
    """

    def __init__(self, base_dir: str, root: Path) -> None:
        super().__init__(base_dir)
        self._root = root
        self._tables: set[str] = set()

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        """Open a transaction of a run's database, which is made if it is missing, or of the index."""
        with self._db_lock:
            engine = _engine(self.conn_string_for_shard(shard))
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def has_table(self, table_name: str) -> bool:
        """Return whether the index has the table. Dagster asks this for each check of each step."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables
