"""Dagster's SQLite files through one engine each: statements are compiled once, and no file stays open."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import psutil

from megacpp_assets.defs.home.instance import open_instance
from tests.defs.home.test_together import RUN, report


def test_statements_of_a_database_have_one_engine_and_leave_no_file_open(tmp_path: Path) -> None:
    with open_instance(tmp_path) as instance:
        events: Any = instance.event_log_storage
        table: Any = instance.run_storage
        engines = []
        for _ in range(2):
            report(instance)
            assert not instance.get_runs()
            with events.index_connection() as index, table.connect() as runs:
                engines.append((index.engine, runs.engine))
        opened = [file.path for file in psutil.Process().open_files() if file.path.startswith(str(tmp_path))]
    assert engines[0] == engines[1] and engines[0][0] is not engines[0][1]
    assert opened == []


def test_a_root_that_was_deleted_and_made_again_at_the_same_place_has_the_events_of_its_own(tmp_path: Path) -> None:
    for count in (2, 1):
        with open_instance(tmp_path / "data") as instance:
            for _ in range(count):
                report(instance)
            assert len(instance.all_logs(RUN)) == count
            assert len(instance.fetch_materializations(dg.AssetKey("asset"), limit=10).records) == count
        shutil.rmtree(tmp_path / "data")
