"""What is read of Dagster's database is what Dagster itself says."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.defs.event_log import event_log
from megacpp_assets.defs.instance import open_instance
from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.showing.paths import EARLIER_METADATA, MANIFEST_METADATA

STEPS = (
    ("pinned_repos", "fmt@11.0.0"),
    ("pinned_repos", "fmt@11.0.2"),
    ("tokenizer", "corpus"),
    ("trained_checkpoint", "base/4k"),
    ("trained_checkpoint", "base/16k"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root whose log has three materializations of each step; those of checkpoints have earlier ones."""
    with open_instance(tmp_path) as instance:
        for number in range(3):
            for stage, partition in STEPS:
                key, shown = key_of("corpus", stage, partition)
                told = {MANIFEST_METADATA: f"{stage}-{partition}-{number}"}
                if stage == "trained_checkpoint":
                    told[EARLIER_METADATA] = f"early-{number} earlier-{number}"
                instance.report_runless_asset_event(dg.AssetMaterialization(key, partition=shown, metadata=told))
    return tmp_path


def _by_dagster(root: Path, stage: str, partition: str) -> set[str]:
    key, shown = key_of("corpus", stage, partition)
    wanted = dg.AssetRecordsFilter(key, asset_partitions=[shown] if shown else None)
    with open_instance(root) as instance:
        records = instance.fetch_materializations(wanted, limit=100).records
    metadata = [record.asset_materialization.metadata for record in records if record.asset_materialization]
    names = (MANIFEST_METADATA, EARLIER_METADATA)
    return {word for told in metadata for name in names if name in told for word in str(told[name].value).split()}


@pytest.mark.parametrize(("stage", "partition"), STEPS)
def test_the_log_says_what_dagster_says(root: Path, stage: str, partition: str) -> None:
    with event_log(root) as recorded:
        found = recorded("corpus", stage, partition)
    assert found == _by_dagster(root, stage, partition)
    assert {f"{stage}-{partition}-{number}" for number in range(3)} <= found


def test_what_a_person_wiped_in_the_ui_is_no_longer_said(root: Path) -> None:
    with open_instance(root) as instance:
        instance.wipe_assets([key_of("corpus", "tokenizer", "corpus")[0]])
    assert _by_dagster(root, "tokenizer", "corpus") == set()
    with event_log(root) as recorded:
        assert recorded("corpus", "tokenizer", "corpus") == set()
        assert recorded("corpus", "pinned_repos", "fmt@11.0.0")


def test_where_there_is_no_log_nothing_is_recorded_and_nothing_is_made(tmp_path: Path) -> None:
    with event_log(tmp_path) as recorded:
        assert recorded("corpus", "tokenizer", "corpus") == set()
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_is_no_database_is_named(root: Path) -> None:
    database = root / "dagster" / "history" / "runs" / "index.db"
    database.write_bytes(b"no database" * 1000)
    with pytest.raises(DiskFailure, match=r"index.db; expected Dagster's event log; .*what to do"):
        with event_log(root) as recorded:
            recorded("corpus", "tokenizer", "corpus")
