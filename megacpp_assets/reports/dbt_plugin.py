"""Applies our restrictions when dbt-duckdb has opened its database, as for our own connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbt.adapters.duckdb.plugins import BasePlugin

from megacpp_assets.reports.hardened import harden


class Plugin(BasePlugin):  # type: ignore[misc]  # dbt's types are not read
    """The plug-in that `dbt_quality/profiles.yml` names. Its `root` is the data root."""

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        """Store the data root."""
        self._root = Path(plugin_config["root"]).resolve()

    def configure_connection(self, conn: Any) -> None:
        """Restrict the connection before dbt uses it."""
        harden(conn, self._root)
