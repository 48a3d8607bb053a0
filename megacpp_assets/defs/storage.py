"""Dagster's database where DAGSTER_HOME is not set: the data root's own.

Without it `dagster dev`, `dagster asset materialize` and the like would remove at their end what they record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData

from megacpp_assets.defs.instance import served_root
from megacpp_assets.defs.showing.paths import home_of


class DataRootStorage(DagsterSqliteStorage):
    """SQLite in the home of the data root that this process serves."""

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """No key: the environment says which data root it is."""
        return {}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        """What Dagster calls with the settings, of which there are none."""
        return cls.from_local(str(home_of(served_root())), inst_data=inst_data)
