"""Writes the dbt sources of the raw schema from the descriptions in the raw tables.

`python -m megacpp_assets.reports.sources_file` rewrites `models/sources/raw.yml` of the checkout's dbt project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from megacpp_assets.reports.place import project
from megacpp_assets.reports.raw_tables import RAW_TABLES, SCHEMA, VIEW_NOTES, RawTable

SOURCES_FILE: Final = "models/sources/raw.yml"
_HEAD: Final = """\
# Written by `python -m megacpp_assets.reports.sources_file`; what columns hold is said in megacpp_assets.
version: 2
sources:
  - name: raw
    schema: {schema}
    description: Artifacts of the data root, complete ones only.
    tables:
"""
_WARN_AFTER: Final = "{warn_after: {count: 90, period: day}}"
"""Days without a new artifact after which dbt warns. It is never a failure."""


def sources_text() -> str:
    """Return the text of the file."""
    return _HEAD.format(schema=SCHEMA) + "".join(
        line for name, table in RAW_TABLES.items() for line in _table(name, table)
    )


def _table(name: str, table: RawTable) -> Iterator[str]:
    notes = {column: table.notes[column] for column in table.columns.names}
    notes = {**VIEW_NOTES, **notes} if table.stage else notes
    yield f"      - name: {name}\n        description: {json.dumps(table.description)}\n"
    if "sealed_at" in notes:
        yield from _freshness(table.stage)
    yield "        columns:\n"
    yield from _columns(notes)


def _freshness(stage: str) -> Iterator[str]:
    """Yield the freshness by the seals of the stage's artifacts. Without artifacts nothing can be outdated."""
    where = f" where stage = '{stage}'" if stage else ""
    query = f"select coalesce(max(sealed_at), now()::timestamp) from {SCHEMA}.artifacts{where}"
    yield f"        config:\n          loaded_at_query: {json.dumps(query)}\n          freshness: {_WARN_AFTER}\n"
    if stage:
        yield f"          meta: {{stage: {stage}}}\n"


def _columns(notes: Mapping[str, str]) -> Iterator[str]:
    for name, note in notes.items():
        yield f"          - {{name: {name}, description: {json.dumps(note, ensure_ascii=False)}}}\n"


if __name__ == "__main__":
    (project() / SOURCES_FILE).write_text(sources_text(), encoding="utf-8")
