"""Dagster's database, in the data root even if DAGSTER_HOME is not set. It rejects malformed partition keys.

Without it `dagster dev` or `dagster asset materialize` would delete at their end what they recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from megacpp_assets.defs.dagster_private import (
    ConfigurableClassData,
    DagsterSqliteStorage,
    DagsterStorage,
    SqliteEventLogStorage,
)
from megacpp_assets.defs.home.database import postgres_url
from megacpp_assets.defs.home.instance import served_root
from megacpp_assets.defs.keys import require_partitions
from megacpp_assets.defs.showing.paths import home_of


class DataRootStorage(DagsterSqliteStorage):
    """SQLite in the home of the data root that this process serves, or the Postgres server that the root names."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        self._event_log_storage = _EventLog(self._event_log_storage._base_dir, Path(base_dir).parent)

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


class _EventLog(SqliteEventLogStorage):
    """The event log. Dagster itself accepts any text as a partition, from its dialog, its API and its sensors, and
    keeps it.
    """

    def __init__(self, base_dir: str, root: Path) -> None:
        super().__init__(base_dir)
        self._root = root

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        """Add all or none. See `require_partitions`."""
        require_partitions(self._root, partitions_def_name, partition_keys)
        super().add_dynamic_partitions(partitions_def_name, partition_keys)
