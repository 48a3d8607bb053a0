"""Dagster's storage on a Postgres server. Imported only where a data root names one."""

from __future__ import annotations

from pathlib import Path

from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage, PostgresRunStorage
from sqlalchemy import URL

from megacpp_assets.defs.dagster_private import ConfigurableClassData
from megacpp_assets.defs.home.launches import CheckedPartitions, CheckedRuns


class PostgresStorage(DagsterPostgresStorage):
    """Runs, events and schedules of the data root `root`. Tables are made if they are missing."""

    def __init__(self, url: URL, root: Path, inst_data: ConfigurableClassData | None) -> None:
        text = url.render_as_string(hide_password=False)
        super().__init__(text, inst_data=inst_data)
        self._event_log_storage = _EventLog(text, root)
        self._run_storage = _Runs(text, root, self._event_log_storage.get_dynamic_partitions)


class _Runs(CheckedRuns, PostgresRunStorage):
    """The table of runs."""


class _EventLog(CheckedPartitions, PostgresEventLogStorage):
    """The event log, which rejects malformed partition keys."""

    def __init__(self, url: str, root: Path) -> None:
        super().__init__(url)
        self._root = root
