"""What is read of Dagster's database is what Dagster itself says."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import freeze_time
from sqlalchemy.exc import DBAPIError

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.defs.home.database import POSTGRES_VARIABLE
from megacpp_assets.defs.home.event_log import event_log
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.recording.records import DagsterRecords
from megacpp_assets.defs.showing.paths import DATA_VERSION_TAG, EARLIER_METADATA, HASHES_METADATA, MANIFEST_METADATA
from tests.pipeline.roots import command, data_hashes, environment, megacpp_here
from tests.postgres import Server, server

__all__ = ["server"]

STEPS = (
    ("pinned_repos", "fmt@11.0.0"),
    ("pinned_repos", "fmt@11.0.2"),
    ("tokenizer", "corpus"),
    ("trained_checkpoint", "base/4k"),
    ("trained_checkpoint", "base/16k"),
)


@pytest.fixture(params=["sqlite", "postgres"])
def root(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data root whose log, in either database, has materializations."""
    if request.param == "sqlite":
        yield _filled(tmp_path)
        return
    server: Server = request.getfixturevalue("server")
    monkeypatch.setenv(POSTGRES_VARIABLE, server.create("log"))
    yield _filled(tmp_path)
    server.drop("log")


def _filled(root: Path) -> Path:
    """Record three materializations of each step; those of checkpoints have earlier ones."""
    with open_instance(root) as instance:
        for number in range(3):
            for stage, partition in STEPS:
                key, shown = key_of("corpus", stage, partition)
                shown_of = _shown_of(f"{stage}-{partition}-{number}", number if stage == "trained_checkpoint" else None)
                instance.report_runless_asset_event(dg.AssetMaterialization(key, partition=shown, metadata=shown_of))
    return root


def _shown_of(manifest: str, number: int | None) -> dict[str, dg.MetadataValue | str]:  # type: ignore[type-arg]
    """Metadata with the hash: those with number 0 as an earlier version wrote them."""
    earlier = [] if number is None else [f"early-{number}", f"earlier-{number}"]
    if manifest.endswith("-0"):
        return {MANIFEST_METADATA: manifest, **({EARLIER_METADATA: " ".join(earlier)} if earlier else {})}
    return {HASHES_METADATA: dg.MetadataValue.json({MANIFEST_METADATA: manifest, EARLIER_METADATA: earlier})}


def _words(metadata: Mapping[str, Any]) -> list[str]:
    """The hashes in the metadata of a materialization, as Dagster returns it."""
    whole = metadata[HASHES_METADATA].value if HASHES_METADATA in metadata else {}
    text = [str(metadata[name].value) for name in (MANIFEST_METADATA, EARLIER_METADATA) if name in metadata]
    return [*whole.get(EARLIER_METADATA, []), whole.get(MANIFEST_METADATA, ""), *" ".join(text).split()]


def _by_dagster(root: Path, stage: str, partition: str) -> set[str]:
    key, shown = key_of("corpus", stage, partition)
    wanted = dg.AssetRecordsFilter(key, asset_partitions=[shown] if shown else None)
    with open_instance(root) as instance:
        records = instance.fetch_materializations(wanted, limit=100).records
    metadata = [record.asset_materialization.metadata for record in records if record.asset_materialization]
    return {word for shown_of in metadata for word in _words(shown_of) if word}


def test_the_log_says_of_each_step_what_dagster_says(root: Path) -> None:
    shown_of = {each: _by_dagster(root, *each) for each in STEPS}
    every = {sha256 for own in shown_of.values() for sha256 in own}
    with event_log(root) as recorded:
        for stage, partition in STEPS:
            step, own = ("corpus", stage, partition), shown_of[stage, partition]
            assert {f"{stage}-{partition}-{number}" for number in range(3)} <= own
            assert all(recorded.has(step, sha256) for sha256 in own)
            assert not any(recorded.has(step, sha256) for sha256 in every - own)
            assert recorded.count(step) == 3


def test_a_manifest_that_an_event_names_as_another_thing_was_not_made_by_it(root: Path) -> None:
    key, shown = key_of("corpus", "pinned_repos", "fmt@11.0.0")
    with open_instance(root) as instance:
        shown_of = {MANIFEST_METADATA: "made", "input": "read"}
        instance.report_runless_asset_event(dg.AssetMaterialization(key, partition=shown, metadata=shown_of))
    with event_log(root) as recorded:
        assert recorded.has(("corpus", "pinned_repos", "fmt@11.0.0"), "made")
        assert not recorded.has(("corpus", "pinned_repos", "fmt@11.0.0"), "read")


def test_what_a_person_wiped_in_the_ui_is_no_longer_said(root: Path) -> None:
    with open_instance(root) as instance:
        instance.wipe_assets([key_of("corpus", "tokenizer", "corpus")[0]])
    assert _by_dagster(root, "tokenizer", "corpus") == set()
    with event_log(root) as recorded:
        assert recorded.count(("corpus", "tokenizer", "corpus")) == 0
        assert not recorded.has(("corpus", "tokenizer", "corpus"), "tokenizer-corpus-2")
        assert recorded.has(("corpus", "pinned_repos", "fmt@11.0.0"), "pinned_repos-fmt@11.0.0-2")


@pytest.mark.parametrize("years", [-30, 30])
def test_what_is_recorded_while_the_clock_is_wrong_counts_as_what_is_recorded_after_it(root: Path, years: int) -> None:
    key, shown = key_of("corpus", "pinned_repos", "fmt@11.0.0")
    with open_instance(root) as instance:
        for sha256, wrong in (("while-it-is-wrong", True), ("set-right-again", False)):
            with freeze_time(datetime.now(UTC) + timedelta(days=365 * years)) if wrong else nullcontext():
                made = dg.AssetMaterialization(
                    key, partition=shown, metadata={MANIFEST_METADATA: sha256}, tags={DATA_VERSION_TAG: sha256}
                )
                instance.report_runless_asset_event(made)
            latest = DagsterRecords(instance, dg.DagsterRun("job"))._versions(key, partitioned=True)
            assert latest[shown] == sha256
    with event_log(root) as recorded:
        step = ("corpus", "pinned_repos", "fmt@11.0.0")
        assert recorded.has(step, "while-it-is-wrong") and recorded.has(step, "set-right-again")


def test_where_there_is_no_log_nothing_is_recorded_and_nothing_is_made(tmp_path: Path) -> None:
    with event_log(tmp_path) as recorded:
        assert recorded.count(("corpus", "tokenizer", "corpus")) == 0
        assert not recorded.has(("corpus", "tokenizer", "corpus"), "")
    assert list(tmp_path.iterdir()) == []


def test_the_log_cannot_be_changed_through_it(root: Path) -> None:
    with event_log(root) as recorded, pytest.raises(DBAPIError, match=r"readonly database|read-only transaction"):
        recorded.connection.exec_driver_sql("DELETE FROM event_logs")  # type: ignore[attr-defined]
    with event_log(root) as recorded:
        assert recorded.count(("corpus", "tokenizer", "corpus")) == 3


def test_a_log_that_is_no_database_is_named(tmp_path: Path) -> None:
    root = _filled(tmp_path)
    database = root / "dagster" / "history" / "runs" / "index.db"
    database.write_bytes(b"no database" * 1000)
    with pytest.raises(DiskFailure, match=r"index.db; expected Dagster's event log; .*what to do"):
        with event_log(root) as recorded:
            recorded.count(("corpus", "tokenizer", "corpus"))


def _run_with_little_room(root: Path, most_bytes: int) -> subprocess.CompletedProcess[str]:
    """`megacpp run` where no file may grow beyond so many bytes, as on a disk that is full."""
    words = ["run", "--repos", "sample-kernel", "--until", "pinned_repos"]
    return subprocess.run(
        command(*words),
        env=environment(root),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)),
    )


def test_a_disk_that_is_full_under_the_log_is_named_and_what_it_lacks_is_recorded_once_there_is_room(
    tmp_path: Path,
) -> None:
    assert megacpp_here(tmp_path, "run", "--repos", "sample-kernel", "--until", "pinned_repos").returncode == 0
    made = data_hashes(tmp_path)
    shutil.rmtree(tmp_path / "dagster")
    done = _run_with_little_room(tmp_path, 65_536)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    lines = [line.strip() for line in done.stderr.splitlines()]
    assert lines[0] == f"error: {tmp_path / 'dagster'}"
    assert lines[1:3] == ["expected a database to write", "found disk I/O error"]
    assert lines[3].startswith("what to do: free room")
    assert data_hashes(tmp_path) == made
    again = megacpp_here(tmp_path, "run", "--repos", "sample-kernel", "--until", "pinned_repos")
    assert "Recorded in Dagster's event log, which lacked them: 1 step\n" in again.stdout, again.stderr
