"""The raw tables: of whole artifacts alone, there also where a stage made nothing, and described column by column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.schemas import ENRICHED, MEGATRON_DOCUMENTS, PACKED, TOKENIZED
from megacpp_assets.pipeline.stages import STAGES
from megacpp_assets.reports.hardened import open_database
from megacpp_assets.reports.inventory import take_inventory
from megacpp_assets.reports.place import project
from megacpp_assets.reports.raw_tables import RAW_TABLES, write_raw
from megacpp_assets.reports.sources_file import SOURCES_FILE, sources_text
from tests.packed.enriched_documents import small_corpus


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Enriched artifacts of a few repositories and nothing else."""
    return small_corpus(tmp_path, count=6).root


def _enriched(root: Path) -> list[Path]:
    return sorted(path.parent for path in root.rglob(c.COMPLETE_FILE))


def test_only_sealed_files_are_read(root: Path) -> None:
    (_enriched(root)[0] / "stranger.parquet").write_bytes(b"not of the manifest")
    inventory = take_inventory(root)
    assert len(inventory.artifacts) == len(_enriched(root)) and not inventory.unreadable
    assert "stranger.parquet" not in {row["name"] for row in inventory.artifact_files}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda folder: (folder / c.COMPLETE_FILE).unlink(), "expected a directory with _COMPLETE"),
        (lambda folder: (folder / c.MANIFEST_FILE).write_bytes(b"{}"), "expected sha256"),
        (lambda folder: next(folder.rglob("*.parquet")).unlink(), "found no such file"),
        (lambda folder: next(folder.rglob("*.parquet")).write_bytes(b"short"), "found 5 bytes"),
    ],
)
def test_a_damaged_artifact_is_named_and_not_read(root: Path, damage: object, reason: str) -> None:
    folder = _enriched(root)[0]
    assert callable(damage)
    damage(folder)
    [unreadable] = take_inventory(root).unreadable
    assert unreadable["path"] == folder.relative_to(root).as_posix() and reason in unreadable["reason"]
    assert not [row for row in take_inventory(root).artifact_files if row["path"] == unreadable["path"]]


def test_every_table_exists_for_any_set_of_artifacts(root: Path) -> None:
    with open_database(root) as connection:
        write_raw(connection, take_inventory(root))
        rows = {name: connection.execute(f"SELECT count(*) FROM raw.{name}").fetchall()[0][0] for name in RAW_TABLES}
    assert rows["enriched_documents"] > 0 and rows["packed_rows"] == rows["training_steps"] == 0


def test_making_the_tables_again_replaces_them(root: Path) -> None:
    for _ in range(2):
        with open_database(root) as connection:
            write_raw(connection, take_inventory(root))
            found = connection.execute("SELECT count(*) FROM raw.artifacts").fetchall()
    assert found == [(len(_enriched(root)),)]


def test_every_column_of_every_table_is_described_and_every_view_names_its_stage() -> None:
    for table in RAW_TABLES.values():
        assert table.description.endswith(".")
        assert all(table.notes[name].endswith((".", ")")) for name in table.columns.names)
        assert not table.stage or table.stage in STAGES
    for schema in (TOKENIZED, ENRICHED, PACKED, MEGATRON_DOCUMENTS):
        assert any(table.columns == schema for table in RAW_TABLES.values())


def test_the_sources_of_the_dbt_project_are_written_from_the_tables() -> None:
    """After a deliberate change: `python -m megacpp_assets.reports.sources_file`."""
    assert (project() / SOURCES_FILE).read_text(encoding="utf-8") == sources_text()


def test_statistics_and_configuration_are_json(root: Path) -> None:
    for row in take_inventory(root).artifacts:
        assert isinstance(json.loads(row["stats"]), dict) and isinstance(json.loads(row["config"]), dict)
