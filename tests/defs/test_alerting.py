"""A moved tag, a rejected release and a failed nightly run are sent to a real web server, once each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRun

from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.alerting import Alerts
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.dagster_private import MAX_RETRIES_TAG, WILL_RETRY_TAG
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.pipeline.corpus import open_corpus
from tests.hooks import Hook, hook
from tests.pipeline.pins.pinned import pin_corpus
from tests.repos.git_tree import commit, make_repository

SOURCE = b"int answer(int a) {\n" + b"  a += 1;\n" * 40 + b"  return a;\n}\n"
CATALOGUE = '[repo.lib]\nurl = "{lib}"\nref = "v1.0"\nlicense = "MIT"\n'
RECIPE = """
dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["4k"]
[promotion]
policy = "when_checked"
[alerts]
webhook = "{url}"
seconds = 5
"""
LAST_TRY = {MAX_RETRIES_TAG: "0"}


@pytest.fixture
def server() -> Iterator[Hook]:
    with hook() as running:
        yield running


@pytest.fixture
def root(tmp_path: Path, server: Hook) -> Path:
    """A data root whose dataset `mine` pins lib@v1.0 and tells `server` what goes wrong."""
    make_repository(tmp_path / "lib", {"lib.cc": SOURCE}, "v1.0")
    (tmp_path / "catalogue.toml").write_text(CATALOGUE.format(lib=tmp_path / "lib"))
    (tmp_path / "mine.toml").write_text(RECIPE.format(url=server.url))
    data = tmp_path / "data"
    data.mkdir()
    pin_corpus(data, load_recipe(str(tmp_path / "mine.toml")), ["lib"])
    return data


def _tick(root: Path, instance: dg.DagsterInstance, name: str, cursor: str = "") -> str:
    """One evaluation of a sensor; return its cursor."""
    definitions = build_definitions(root)
    context = dg.build_sensor_context(
        instance=instance, cursor=cursor or None, repository_def=definitions.get_repository_def()
    )
    with context:
        (sensor,) = [each for each in definitions.sensors or () if each.name == name]
        result = sensor(context)
    assert isinstance(result, dg.SensorResult)
    return result.cursor or ""


def test_a_tag_that_moved_is_reported_once_and_again_only_if_it_was_not_heard(
    root: Path, server: Hook, tmp_path: Path
) -> None:
    moved = commit(tmp_path / "lib", {"lib.cc": SOURCE + b"// other\n"}, "v1.0")
    with open_instance(root) as instance:
        server.status = 500
        cursor = _tick(root, instance, "mine__releases")
        server.status = 200
        for _ in range(3):
            cursor = _tick(root, instance, "mine__releases", cursor)
        _tick(root, instance, "mine__releases")  # as of another daemon, which knows no cursor
    assert [alert["subject"] for alert in server.got] == ["lib@v1.0"] * 2, "the first was answered with 500"
    assert server.got[0]["kind"] == "moved_tag" and moved in server.got[0]["text"]


def test_a_release_that_is_rejected_is_reported_once_for_each_reason(root: Path, server: Hook) -> None:
    from megacpp_assets.contract.errors import CheckFailed

    with open_instance(root) as instance:
        log = dg.build_op_context(instance=instance).log
        for found in ("0.1", "0.1", "0.2", "0.1"):
            refused = CheckFailed("promotion of lib@v1.1, check least_share", expected="0.5", found=found)
            Alerts(open_corpus(root, "mine"), instance, log).rejected([refused])
    assert [(alert["kind"], alert["text"].rpartition(" ")[2]) for alert in server.got] == [
        ("rejected_release", "0.1"),
        ("rejected_release", "0.2"),
    ]


@pytest.mark.campaign  # it makes every stage of a release
def test_a_release_that_the_policy_does_not_promote_is_reported_by_the_nightly_run(
    root: Path, server: Hook, tmp_path: Path
) -> None:
    """It was pinned beside the one that mixtures read, and its checks fail."""
    from megacpp_assets.pipeline.pins.pinning import add_references

    (tmp_path / "lib" / "lib.cc").unlink()
    commit(tmp_path / "lib", {"README": b"gone\n"}, "v1.1")
    add_references(open_corpus(root, "mine"), ["lib@v1.1"])
    for _ in range(2):
        with open_instance(root) as instance:
            job = build_definitions(root).resolve_job_def("mine__releases__job")
            instance.add_dynamic_partitions("repo_ref__mine", ["lib@v1.0"])
            assert job.execute_in_process(instance=instance, partition_key="lib@v1.0", raise_on_error=False).success
    (alert,) = server.got
    assert (alert["kind"], alert["dataset"]) == ("rejected_release", "mine")
    assert alert["text"].startswith("promotion of lib@v1.1, check stages_current; expected every stage of it current")


def _fail(instance: dg.DagsterInstance, job: str, **tags: str) -> str:
    run = DagsterRun(job_name=job, tags=tags)
    instance.add_run(run)
    instance.report_run_failed(run, "killed")
    return run.run_id


def test_a_nightly_run_that_failed_is_reported_once_and_one_that_starts_again_is_not(root: Path, server: Hook) -> None:
    with open_instance(root) as instance:
        _fail(instance, "mine__backfill__job", **LAST_TRY)
        cursor = _tick(root, instance, "mine__alerts")
        assert server.got == [], "before the sensor was started"
        again = _fail(instance, "mine__backfill__job")
        found = instance.get_run_by_id(again)
        assert found is not None and found.tags[WILL_RETRY_TAG] == "true", "Dagster starts what was killed again"
        _fail(instance, "another__job", **LAST_TRY)
        last = _fail(instance, "mine__backfill__job", **LAST_TRY)
        server.status = 503
        same = _tick(root, instance, "mine__alerts", cursor)
        assert same == cursor, "what was not heard is looked for again"
        server.status = 200
        for _ in range(3):
            cursor = _tick(root, instance, "mine__alerts", cursor)
    assert [alert["subject"] for alert in server.got] == [last] * 2
    assert server.got[0]["text"] == (
        f"mine__backfill__job: the run failed; what to do: look at the run {last} in the UI"
    )


def test_every_run_that_failed_while_no_daemon_looked_is_reported(root: Path, server: Hook) -> None:
    with dg.DagsterInstance.ephemeral() as instance:  # one on disk takes a minute for so many runs
        an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
        runs = [DagsterRun(job_name="mine__backfill__job", status=dg.DagsterRunStatus.FAILURE) for _ in range(101)]
        for run in runs:
            instance.add_run(run)
        _tick(root, instance, "mine__alerts", f"{an_hour_ago} {an_hour_ago}")
    assert {alert["subject"] for alert in server.got} == {run.run_id for run in runs}


def test_where_no_hook_is_named_there_is_no_sensor_of_failed_runs(root: Path, tmp_path: Path) -> None:
    names = {sensor.name for sensor in build_definitions(root).sensors or ()}
    assert names == {"mine__releases", "mine__alerts"}
    quiet = tmp_path / "quiet.toml"
    quiet.write_text((tmp_path / "mine.toml").read_text().partition("[alerts]")[0])
    other = tmp_path / "other"
    other.mkdir()
    pin_corpus(other, load_recipe(str(quiet)), ["lib"])
    assert {sensor.name for sensor in build_definitions(other).sensors or ()} == {"mine__releases"}
