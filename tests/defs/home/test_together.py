"""Events that are written together are there for everybody at once, and at the end in the files that others watch."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import dagster as dg
from dagster._core.events import StepMaterializationData

from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.home.together import written_together

RUN = "11111111-2222-3333-4444-555555555555"
DATABASES = ("index", RUN)


def _events(root: Path, name: str) -> int:
    with closing(sqlite3.connect(root / "dagster" / "history" / "runs" / f"{name}.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM event_logs").fetchone()[0])


def report(instance: dg.DagsterInstance) -> None:
    made = dg.AssetMaterialization("asset")
    data = StepMaterializationData(made)
    event = dg.DagsterEvent("ASSET_MATERIALIZATION", "job", event_specific_data=data)
    instance.report_dagster_event(event, RUN)


def test_others_read_each_event_as_it_is_written_and_the_databases_are_whole_at_the_end(tmp_path: Path) -> None:
    with open_instance(tmp_path) as instance:
        report(instance)
        with written_together(instance, RUN):
            for count in (2, 3):
                report(instance)
                assert [_events(tmp_path, name) for name in DATABASES] == [count, count]
            assert (tmp_path / "dagster" / "history" / "runs" / f"{RUN}.db-wal").stat().st_size
        assert not (tmp_path / "dagster" / "history" / "runs" / f"{RUN}.db-wal").exists()
        report(instance)
    assert [_events(tmp_path, name) for name in DATABASES] == [4, 4]


def test_after_the_block_events_wait_for_the_disk_again(tmp_path: Path) -> None:
    with open_instance(tmp_path) as instance:
        levels = []
        report(instance)
        for within in (False, True, False):
            with written_together(instance, RUN) if within else open_instance(tmp_path):
                with instance.event_log_storage.index_connection() as connection:
                    levels.append(connection.exec_driver_sql("PRAGMA synchronous").scalar())
    assert levels == [2, 1, 2]
