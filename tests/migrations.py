"""Alembic's list of Dagster's migrations is read once a process.

Dagster reads the forty files of the list anew whenever it opens one of its databases, which each test does in a data
root of its own: a third of a CPU second for a new root. A plug-in of pytest.
"""

from __future__ import annotations

import sys
from typing import Any

_read: dict[str | None, Any] = {}
"""Folder of migrations -> what alembic has read of it."""


def pytest_collection_finish() -> None:
    """Patch alembic if what was collected has loaded it."""
    scripts = sys.modules.get("alembic.script")
    if scripts is None:
        return
    read = scripts.ScriptDirectory.from_config

    def once(config: Any) -> Any:
        folder = config.get_main_option("script_location")
        if folder not in _read:
            _read[folder] = read(config)
        return _read[folder]

    scripts.ScriptDirectory.from_config = once
