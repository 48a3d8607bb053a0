"""DuckDB of the reports is shut in below its data root, ours and dbt's alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.reports.hardened import MEMORY, harden, literal, open_database, pattern
from megacpp_assets.reports.place import database

OUTSIDE = [
    "SELECT * FROM read_text('{outside}')",
    "SELECT * FROM read_text('{root}/../outside.txt')",
    "SELECT * FROM read_text('{root}/link')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "ATTACH '{outside}.duckdb'",
    "COPY (SELECT 1) TO '{outside}'",
    "EXPORT DATABASE '{outside}.folder'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT * FROM 'https://example.com/a.parquet'",
    "SET enable_external_access = true",
    "SET memory_limit = '1TB'",
    "RESET lock_configuration",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root beside a file that nobody may read or change."""
    (tmp_path / "outside.txt").write_text("untouched")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "root" / "inside.txt").write_text("inside")
    return tmp_path / "root"


@pytest.mark.parametrize("query", OUTSIDE)
def test_a_query_that_reaches_outside_the_data_root_fails(root: Path, query: str) -> None:
    outside = root.parent / "outside.txt"
    with open_database(root) as connection, pytest.raises(duckdb.Error):
        connection.execute(query.format(root=root, outside=outside)).fetchall()
    assert outside.read_text() == "untouched"
    assert sorted(path.name for path in root.parent.iterdir()) == ["outside.txt", "root"]


@pytest.mark.parametrize("query", OUTSIDE)
def test_dbts_own_connection_is_shut_in_too(root: Path, query: str) -> None:
    from dbt.adapters.duckdb.credentials import DuckDBCredentials, PluginConfig
    from dbt.adapters.duckdb.environments.local import LocalEnvironment

    plugin = PluginConfig(module="megacpp_assets.reports.dbt_plugin", config={"root": str(root)})
    credentials = DuckDBCredentials(path=str(root / "dbt.duckdb"), plugins=[plugin])
    environment = LocalEnvironment(credentials)
    cursor: Any = environment.handle().cursor()
    with pytest.raises(duckdb.Error):
        cursor.execute(query.format(root=root, outside=root.parent / "outside.txt")).fetchall()
    environment.close()


def test_files_in_the_data_root_are_read(root: Path) -> None:
    with open_database(root) as connection:
        found = connection.execute("SELECT content FROM read_text(?)", [str(root / "inside.txt")]).fetchall()
        limit = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    assert found == [("inside",)]
    assert MEMORY == "2GB" and limit == [("1.8 GiB",)]


def test_a_second_connection_to_the_same_database_is_no_error(root: Path) -> None:
    with open_database(root) as connection:
        second = connection.cursor()
        harden(second, root)
        query = "SELECT content FROM read_text(?)"
        assert second.execute(query, [str(root / "inside.txt")]).fetchall() == [("inside",)]
        with pytest.raises(duckdb.Error):
            second.execute(query, [str(root.parent / "outside.txt")]).fetchall()


def test_the_name_of_a_data_root_may_have_glob_and_sql_characters(tmp_path: Path) -> None:
    root = tmp_path / "da't[a] *?"
    root.mkdir()
    (root / "in.txt").write_text("inside")
    with open_database(root) as connection:
        query = f"SELECT content FROM read_text([{literal(pattern(root / 'in.txt'))}])"
        assert connection.execute(query).fetchall() == [("inside",)]


@pytest.mark.parametrize("name", ["a[b].txt", "a*.txt", "a?.txt", "a'b.txt", "a]b.txt"])
def test_a_pattern_matches_only_its_file(root: Path, name: str) -> None:
    (root / name).write_text("this one")
    for other in ("ab.txt", "aa.txt", "axb.txt"):
        (root / other).write_text("another")
    with open_database(root) as connection:
        query = f"SELECT content FROM read_text({literal(pattern(root / name))})"
        assert connection.execute(query).fetchall() == [("this one",)]


def test_a_database_that_cannot_be_opened_is_one_sentence(root: Path) -> None:
    database(root).parent.mkdir()
    database(root).write_bytes(b"no database" * 1000)
    with pytest.raises(DiskFailure, match=r"expected a database to open; found .*; what to do: "), open_database(root):
        pass
