"""The graph of the dbt project as dagster-dbt reads it, for the definitions to load without dbt.

`python -m tests.defs.reports.graph` writes `megacpp_assets/defs/reports/graph.json` anew.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any
from unittest import mock

import dagster as dg
from dagster_dbt import DagsterDbtTranslator
from dagster_dbt.asset_utils import build_dbt_specs
from dbt.cli.main import dbtRunner

from megacpp_assets.defs.keys import report_key
from megacpp_assets.defs.reports.graph import GRAPH_FILE
from megacpp_assets.reports.build import dbt_arguments, prepare
from megacpp_assets.reports.hardened import open_database
from megacpp_assets.reports.place import target
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE

SENTENCES = {
    "unique": "No two rows have the same {column}.",
    "not_null": "Every row has its {column}.",
    "accepted_values": "Nothing stands in {column} but {values}.",
    "relationships": "Each {column} is a {field} of {to}.",
    "between": "{column} is at least {least} and at most {most}.",
    "unique_together": "No two rows agree in {columns}.",
    "shares_sum_to_one": "{column} sums to 1 over the rows that agree in {group_by}.",
}
"""What a generic test of the project asks."""
_TYPES = "SELECT table_name, column_name, data_type FROM information_schema.columns"


class _Translator(DagsterDbtTranslator):
    """Keys as the definitions have them: a table of the reports, or the stage whose files a source shows."""

    def get_asset_spec(self, manifest: Mapping[str, Any], unique_id: str, project: Any) -> dg.AssetSpec:
        node = self.get_resource_props(manifest, unique_id)
        stage = node.get("meta", {}).get("stage")
        source = dg.AssetKey(["stage", stage or "", node["name"]])
        key = source if node["resource_type"] == "source" else report_key(node["name"])
        return super().get_asset_spec(manifest, unique_id, project).replace_attributes(key=key)


def graph(root: Path) -> dict[str, Any]:
    """Table -> how it is made, what it is, its columns, what it reads, and its tests with what they ask."""
    manifest, types = _made(root)
    specs, checks = build_dbt_specs(
        translator=_Translator(),
        manifest=manifest,
        select="fqn:*",
        exclude="",
        selector="",
        io_manager_key=None,
        project=None,
    )
    nodes = {node["name"]: node for node in manifest["nodes"].values()}
    tables = {
        spec.key.path[-1]: _table(spec, nodes[spec.key.path[-1]], types) for spec in sorted(specs, key=lambda s: s.key)
    }
    for check in sorted(checks, key=lambda check: check.name):
        tables[check.asset_key.path[-1]]["checks"][check.name] = _asks(nodes[check.name])
    # Dagster wants the results of one body in an order in which each comes after those it reads.
    order = TopologicalSorter({name: table["tables"] for name, table in tables.items()})
    return {name: tables[name] for name in order.static_order()}


def _table(spec: dg.AssetSpec, node: Mapping[str, Any], types: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    upstream = [dep.asset_key.path for dep in spec.deps]
    return {
        "description": node["description"],
        "made_as": node["config"]["materialized"],
        "columns": {
            name: [types[node["name"], name], column["description"]] for name, column in node["columns"].items()
        },
        "tables": sorted(path[-1] for path in upstream if path[0] != "stage"),
        "stages": sorted({path[1] for path in upstream if path[0] == "stage" and path[1]}),
        "checks": {},
    }


def _asks(node: Mapping[str, Any]) -> str:
    """A singular test says it in its first comment."""
    generic = node.get("test_metadata")
    if generic is None:
        comment = re.findall(r"^-- (.*)$", node["raw_code"], flags=re.MULTILINE)
        return str(comment[0])
    given = {"most": "more", "column": node["column_name"], **generic["kwargs"]}
    lists = {name: ", ".join(map(str, value)) for name, value in given.items() if isinstance(value, list)}
    return SENTENCES[generic["name"]].format(**{**given, **lists})


def _made(root: Path) -> tuple[dict[str, Any], dict[tuple[str, str], str]]:
    """The manifest of the project as it was built for `root`, and the type of each column of its tables."""
    with open_database(root) as connection:
        rows = connection.execute(_TYPES).fetchall()
    manifest: dict[str, Any] = json.loads((target(root) / "manifest.json").read_text())
    return manifest, {(table, column): kind.lower() for table, column, kind in rows}


def text(root: Path) -> str:
    """The file's text, by the reports of `root`, whatever it holds."""
    return json.dumps(graph(root), indent=1, ensure_ascii=False) + "\n"


def _write() -> None:
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, {DATA_ROOT_VARIABLE: name}):
        prepare(Path(name))
        done = dbtRunner().invoke(["run", *dbt_arguments(Path(name)), "--log-level", "none"])
        assert done.success, done.exception
        GRAPH_FILE.write_text(text(Path(name)), encoding="utf-8")


if __name__ == "__main__":
    _write()
