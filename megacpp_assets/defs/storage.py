"""Dagster's database, in the data root even if DAGSTER_HOME is not set. It rejects malformed partition keys.

Without it `dagster dev` or `dagster asset materialize` would delete at their end what they recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.defs.dagster_private import ConfigurableClassData, DagsterSqliteStorage, SqliteEventLogStorage
from megacpp_assets.defs.instance import served_root
from megacpp_assets.defs.keys import dataset_of
from megacpp_assets.defs.showing.paths import home_of
from megacpp_assets.storage.lock_file import read_corpus


class DataRootStorage(DagsterSqliteStorage):
    """SQLite in the home of the data root that this process serves."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        self._event_log_storage = _EventLog(self._event_log_storage._base_dir, Path(base_dir).parent)

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """No settings: the environment names the data root."""
        return {}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        """Dagster calls this with the settings, which are empty."""
        return cls(str(home_of(served_root())), inst_data)


class _EventLog(SqliteEventLogStorage):
    """The event log. Dagster itself accepts any text as a partition, from its dialog, its API and its sensors, and
    keeps it.
    """

    def __init__(self, base_dir: str, root: Path) -> None:
        super().__init__(base_dir)
        self._root = root

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        """Add all or none. `SpecError` for a key that is not NAME@REF, and for a repository that the dataset lacks."""
        dataset = dataset_of(partitions_def_name)
        if dataset is not None:
            _require_partitions(self._root, dataset, partition_keys)
        super().add_dynamic_partitions(partitions_def_name, partition_keys)


def _require_partitions(root: Path, dataset: str, keys: Sequence[str]) -> None:
    names = {RepoRef.parse(key).name for key in keys}
    lock = read_corpus(root, dataset)
    for name in sorted(names - {pin.name for pin in lock.known}):
        lock.pin(name)
