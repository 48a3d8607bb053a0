"""A backfill from the UI: each partition is made once, also where the daemon or the whole UI is killed meanwhile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.ui.kill_backfill import STAGES, launch, make_root, materializations, partitions, wait_for_end
from tests.ui.running import running_ui, wait_for

_RELEASES = 3


def test_each_partition_is_made_once_whatever_is_killed_meanwhile(tmp_path: Path) -> None:
    root, keys = make_root(tmp_path, _RELEASES), partitions(_RELEASES)
    with running_ui(root) as ui:
        backfill = launch(ui, keys)
        wait_for(lambda: materializations(root))
        ui.process.kill()
    with running_ui(root) as ui:
        assert wait_for_end(ui, backfill, kills=1)[0] == "COMPLETED_SUCCESS"
    assert materializations(root) == Counter((stage, key) for stage in STAGES for key in keys)


def test_a_daemon_that_is_killed_is_started_again_and_a_second_backfill_makes_nothing(tmp_path: Path) -> None:
    root, keys = make_root(tmp_path, 2), partitions(2)
    with running_ui(root) as ui:
        assert wait_for_end(ui, launch(ui, keys), kills=1)[0] == "COMPLETED_SUCCESS"
        made = {file: file.stat().st_mtime_ns for file in (root / "receipts").rglob("*.json")}
        assert wait_for_end(ui, launch(ui, keys), kills=0)[0] == "COMPLETED_SUCCESS"
    assert {file: file.stat().st_mtime_ns for file in (root / "receipts").rglob("*.json")} == made
    assert set(materializations(root).values()) == {2}, "one for each backfill"
