"""A backfill from the UI: each partition is made once, whatever is killed meanwhile, also under two daemons."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from megacpp_assets.defs.home.instance import HOME_VARIABLE
from megacpp_assets.defs.showing.paths import home_of
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE
from megacpp_assets.ui.services import DAEMON_MODULE
from tests.ui.kill_backfill import (
    STAGES,
    daemon_of,
    database,
    launch,
    make_root,
    materializations,
    partitions,
    wait_for_end,
)
from tests.ui.running import Ui, running_ui, wait_for

_RELEASES = 2


def test_a_ui_that_is_killed_leaves_no_process_and_the_next_one_makes_what_is_left_once(tmp_path: Path) -> None:
    """Nothing that the UI started for itself outlives it."""
    root, keys = make_root(tmp_path, 1), partitions(1)
    with running_ui(root) as ui:
        backfill = launch_and_kill(ui, root, keys)
    with running_ui(root) as ui:
        assert wait_for_end(ui, backfill, kills=0)[0] == "COMPLETED_SUCCESS"
    assert materializations(root) == Counter((stage, key) for stage in STAGES for key in keys)


def launch_and_kill(ui: Ui, root: Path, keys: list[str]) -> str:
    """Kill the UI at work on the backfill, whose id is returned, and see that all below it end."""
    below = psutil.Process(ui.process.pid).children(recursive=True)
    assert len(below) >= 3, "the server of the assets, the one that it starts, and the daemon"
    backfill = launch(ui, keys)
    wait_for(lambda: materializations(root))
    ui.process.kill()
    wait_for(lambda: not any(process.is_running() for process in below))
    return backfill


@pytest.mark.campaign
def test_each_partition_is_made_once_whatever_is_killed_meanwhile(tmp_path: Path) -> None:
    """First the UI, then the daemon of the next one, beside which there is another daemon."""
    root, keys = make_root(tmp_path, _RELEASES), partitions(_RELEASES)
    with running_ui(root) as ui:
        backfill = launch_and_kill(ui, root, keys)
    with running_ui(root) as ui, second_daemon(ui, root) as other:
        assert wait_for_end(ui, backfill, kills=1)[0] == "COMPLETED_SUCCESS"
        assert other.poll() is None
    assert materializations(root) == Counter((stage, key) for stage in STAGES for key in keys)


@contextmanager
def second_daemon(ui: Ui, root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Dagster's daemon as somebody starts it beside the UI's own, over the same data root."""
    line = wait_for(lambda: daemon_of(ui)).cmdline()
    command = [sys.executable, "-m", *line[line.index(DAEMON_MODULE) :]]
    own = {HOME_VARIABLE: str(home_of(root)), DATA_ROOT_VARIABLE: str(root)}
    with subprocess.Popen(command, env={**os.environ, **own}, cwd=root) as other:
        try:
            yield other
        finally:
            other.terminate()  # Otherwise a test that fails waits for this process for ever.


@pytest.mark.campaign
def test_a_daemon_that_is_killed_is_started_again_and_a_second_backfill_makes_nothing(tmp_path: Path) -> None:
    """With the database on a Postgres server; the test before has SQLite."""
    with database(on_postgres=True):
        _made_once_by_two_backfills(tmp_path)


def _made_once_by_two_backfills(folder: Path) -> None:
    root, keys = make_root(folder, 2), partitions(2)
    with running_ui(root) as ui:
        assert wait_for_end(ui, launch(ui, keys), kills=1)[0] == "COMPLETED_SUCCESS"
        made = {file: file.stat().st_mtime_ns for file in (root / "receipts").rglob("*.json")}
        assert wait_for_end(ui, launch(ui, keys), kills=0)[0] == "COMPLETED_SUCCESS"
    assert {file: file.stat().st_mtime_ns for file in (root / "receipts").rglob("*.json")} == made
    assert set(materializations(root).values()) == {2}, "one for each backfill"
    assert not (root / "dagster" / "history").exists(), "nothing is in SQLite"


@pytest.mark.campaign
@pytest.mark.timeout(7200)
def test_on_postgres_a_hundred_partitions_are_made_once_under_twenty_kills_of_the_daemon(tmp_path: Path) -> None:
    with database(on_postgres=True):
        root, keys = make_root(tmp_path, 100), partitions(100)
        with running_ui(root) as ui:
            assert wait_for_end(ui, launch(ui, keys), kills=20) == ("COMPLETED_SUCCESS", 20)
        assert materializations(root) == Counter((stage, key) for stage in STAGES for key in keys)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_a_backfill_continues_when_postgres_is_back_after_a_minute_and_records_each_partition_once(
    tmp_path: Path,
) -> None:
    with database(on_postgres=True) as server:
        assert server is not None
        root, keys = make_root(tmp_path, _RELEASES), partitions(_RELEASES)
        with running_ui(root) as ui:
            backfill = launch(ui, keys)
            wait_for(lambda: materializations(root))
            server.stop("immediate")
            time.sleep(60)
            assert ui.process.poll() is None
            server.start()
            assert wait_for_end(ui, backfill, kills=0)[0] == "COMPLETED_SUCCESS"
        assert materializations(root) == Counter((stage, key) for stage in STAGES for key in keys)
