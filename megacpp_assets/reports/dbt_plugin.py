"""What dbt-duckdb calls when it has opened its database: the same walls as around our own connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbt.adapters.duckdb.plugins import BasePlugin

from megacpp_assets.reports.hardened import harden


class Plugin(BasePlugin):
    """Named in `dbt_quality/profiles.yml`, whose `root` is the data root."""

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        """Keep the data root."""
        self._root = Path(plugin_config["root"]).resolve()

    def configure_connection(self, conn: Any) -> None:
        """Shut the connection in before dbt asks anything of it."""
        harden(conn, self._root)
