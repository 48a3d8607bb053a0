"""Reads `graph.json`: what the graph of assets needs of the dbt project, so that it is listed without dbt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

GRAPH_FILE: Final = Path(__file__).with_name("graph.json")


def read_graph() -> dict[str, dict[str, Any]]:
    """Return table -> its description, columns, upstream tables and stages, and checks."""
    tables: dict[str, dict[str, Any]] = json.loads(GRAPH_FILE.read_text(encoding="utf-8"))
    return tables
