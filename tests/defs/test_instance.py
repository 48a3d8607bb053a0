"""The Dagster instance of a data root where its database is no database."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.defs.instance import open_instance


def test_a_database_that_cannot_be_read_is_a_sentence_with_what_to_do(tmp_path: Path) -> None:
    with open_instance(tmp_path) as instance:
        assert instance.get_runs() == []
    databases = [path for path in (tmp_path / "dagster").rglob("*.db") if path.stat().st_size]
    for database in databases:
        database.write_bytes(b"no database" * 1000)
    said = r"dagster; expected a database to write; found file is not a database; what to do: .*dagster/ may be removed"
    with pytest.raises(DiskFailure, match=said), open_instance(tmp_path) as instance:
        instance.get_runs()
    assert databases != []
