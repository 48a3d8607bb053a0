"""A step is run in one way, whoever asks: `megacpp run`, Dagster's command line, or a run that the UI launched."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.event_log import SqliteEventLogStorage

from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.commands.missing import record_missing
from megacpp_assets.defs.home.event_log import event_log
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import repo_partitions
from megacpp_assets.defs.recording.recorded_run import COMMAND_TAG, MISSING
from megacpp_assets.defs.showing.paths import HASHES_METADATA
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.execute import result_of
from megacpp_assets.pipeline.stages import Kind, stages_of
from megacpp_assets.pipeline.steps import step_of
from megacpp_assets.storage.artifact import open_artifact
from tests.pipeline.roots import data_hashes, environment, succeed

DATASET = "sample_semantic_4k_v1__sample_kernel"
_STAGES = [stage.name for stage in stages_of(load_recipe("sample")) if stage.kind is Kind.REPOSITORY]
_READ_PINS = ("curated_files", "semantic_jsonl", "tokenizer")
REPO = "sample-kernel@v1.0.0"
RAW, TOKENIZER = f"cpp_raw/{REPO}", f"tokenizer/{DATASET}"

_ONE_AFTER_ANOTHER = """
import json, sys
from dagster._cli import create_dagster_cli
for words in json.loads(sys.argv[1]):
    create_dagster_cli().main(words, standalone_mode=False)
"""
"""`dagster WORDS` again and again in one process, which imports Dagster once."""

Ask = Callable[[Path], None]


def by_command(root: Path) -> None:
    succeed(root, "run", "--repos", "sample-kernel", "--until", "tokenizer")


def by_dagster(root: Path) -> None:
    """`dagster asset materialize` of the assets with partitions and of the one without, as its own users type it."""
    typed = []
    for stages, words in (
        (("pinned_repos", "curated_files", "semantic_jsonl"), ["--partition", REPO]),
        (("tokenizer",), []),
    ):
        selected = ",".join(f"{DATASET}/{stage}" for stage in stages)
        module = ["-m", "megacpp_assets.definitions"]
        typed.append(["asset", "materialize", *module, "--select", selected, *words])
    command = [sys.executable, "-c", _ONE_AFTER_ANOTHER, json.dumps(typed)]
    home = {"DAGSTER_HOME": str(root / "dagster")}
    done = subprocess.run(command, env=environment(root) | home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def by_launched_run(root: Path) -> None:
    """What the UI's run workers execute: the jobs of the definitions, on the root's instance."""
    definitions = build_definitions(root)
    with open_instance(root) as instance:
        for segment, partition in (("pinned_repos__curated_files__semantic_jsonl", REPO), ("tokenizer", None)):
            job = definitions.resolve_job_def(f"{DATASET}__{segment}__job")
            assert job.execute_in_process(instance=instance, partition_key=partition).success


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with one pinned repository and nothing made, but for the instance's own files."""
    root = tmp_path_factory.mktemp("one_way") / "data"
    succeed(root, "run", "--repos", "sample-kernel", "--until", "pinned_repos")
    shutil.rmtree(root / "cpp_raw")
    shutil.rmtree(root / "receipts")
    return root


@pytest.fixture(scope="module")
def by(pinned: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same steps run in each of the three ways, each in a copy of that root."""
    made = {}
    for ask in (by_command, by_dagster, by_launched_run):
        made[ask.__name__] = Path(shutil.copytree(pinned, tmp_path_factory.mktemp(ask.__name__) / "data"))
        ask(made[ask.__name__])
    return made


def _receipts(root: Path) -> dict[str, list[object]]:
    files = sorted(file for file in (root / "receipts").rglob("*.json") if not file.name.endswith(".work.json"))
    return {file.relative_to(root).as_posix(): json.loads(file.read_bytes())["checks"] for file in files}


def test_all_ways_leave_the_same_files_and_the_same_lock(by: dict[str, Path]) -> None:
    expected = data_hashes(by["by_command"])
    assert expected["corpus.lock"] and f"{TOKENIZER}/tokenizer.json" in expected
    assert [data_hashes(root) for root in by.values()] == [expected] * 3


def test_all_ways_pin_the_tokenizer(by: dict[str, Path]) -> None:
    pins = [open_corpus(root).lock.tokenizer for root in by.values()]
    assert pins[0] is not None and pins == [pins[0]] * 3


def test_all_ways_leave_the_same_receipts(by: dict[str, Path]) -> None:
    expected = _receipts(by["by_command"])
    assert len(expected) == 4
    assert [_receipts(root) for root in by.values()] == [expected] * 3


def test_all_ways_leave_the_same_events(by: dict[str, Path]) -> None:
    for root in by.values():
        with open_instance(root) as instance, event_log(root) as recorded:
            for stage, partition, path in (
                ("pinned_repos", REPO, RAW),
                ("curated_files", REPO, f"curated/{DATASET}/{REPO}"),
                ("semantic_jsonl", REPO, f"jsonl/{DATASET}/{REPO}"),
                ("tokenizer", DATASET, TOKENIZER),
            ):
                assert recorded.has((DATASET, stage, partition), open_artifact(root, path).manifest.sha256)
                assert _checked(instance, stage) == {
                    check["name"] for check in _receipts(root)[f"receipts/{path}.json"]
                }


def test_every_materialisation_says_what_is_behind_it_and_its_run_is_found_by_that(by: dict[str, Path]) -> None:
    for root in by.values():
        lock = open_corpus(root).lock
        assert lock.tokenizer is not None
        behind = {"megacpp/recipe": lock.recipe[:12], "megacpp/tokenizer_commit": lock.tokenizer.commit}
        with open_instance(root) as instance:
            event = instance.get_latest_materialization_event(dg.AssetKey([DATASET, "tokenizer"]))
            assert event is not None and event.asset_materialization is not None
            tags, event_metadata = event.asset_materialization.tags or {}, event.asset_materialization.metadata
            manifest = open_artifact(root, TOKENIZER).manifest
            assert {key: tags[key] for key in behind} == behind and len(tags["megacpp/lock"]) == 12
            assert (tags["dagster/code_version"], tags["dagster/data_version"]) == (manifest.version, manifest.sha256)
            assert event_metadata["inputs"].value == [[entry.path, entry.manifest_sha256] for entry in manifest.inputs]
            assert event_metadata[HASHES_METADATA].value["tokenizer_commit"] == lock.tokenizer.commit
            assert event.run_id in {run.run_id for run in instance.get_runs(dg.RunsFilter(tags=behind))}


def test_what_was_made_shows_as_up_to_date_until_something_else_is_made_upstream(by: dict[str, Path]) -> None:
    """Upstream is made again in the event log only: with the same bytes, then with others."""
    for source in by.values():
        root = Path(shutil.copytree(source, source.with_name("remade")))
        raw = open_artifact(root, RAW).manifest.sha256
        with open_instance(root) as instance:
            assert _out_of_date(root, instance) == []
            _report_raw(instance, raw)
            assert _out_of_date(root, instance) == []
            _report_raw(instance, "0" * 64)
            assert _out_of_date(root, instance) == [(stage, "DATA") for stage in _READ_PINS]


def _report_raw(instance: dg.DagsterInstance, version: str) -> None:
    made = dg.AssetMaterialization(
        dg.AssetKey([DATASET, "pinned_repos"]), partition=REPO, tags={"dagster/data_version": version}
    )
    instance.report_runless_asset_event(made)


def _out_of_date(root: Path, instance: dg.DagsterInstance) -> list[tuple[str, str]]:
    """(stage, cause) of what the UI would show as unsynced."""
    graph = build_definitions(root).resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    return [
        (stage, cause.category.value)
        for stage, partition in (
            ("pinned_repos", REPO),
            ("curated_files", REPO),
            ("semantic_jsonl", REPO),
            ("tokenizer", None),
        )
        for cause in resolver.get_stale_causes(dg.AssetKey([DATASET, stage]), partition)
    ]


def _checked(instance: dg.DagsterInstance, stage: str) -> set[str]:
    """The checks of the stage that Dagster has an outcome of."""
    key = dg.AssetKey([DATASET, stage])
    records = instance.event_log_storage.get_event_records(
        dg.EventRecordsFilter(dg.DagsterEventType.ASSET_CHECK_EVALUATION), limit=1000
    )
    found = [record.event_log_entry.dagster_event.asset_check_evaluation_data for record in records]
    return {evaluation.check_name for evaluation in found if evaluation.asset_key == key and evaluation.passed}


def test_what_is_complete_is_not_made_again_by_a_materialisation(by: dict[str, Path]) -> None:
    root = by["by_launched_run"]
    before = {file: file.stat().st_mtime_ns for file in (root / "receipts").rglob("*.json")}
    by_launched_run(root)
    assert {file: file.stat().st_mtime_ns for file in (root / "receipts").rglob("*.json")} == before


def test_one_run_over_all_assets_of_a_repository_makes_each_of_them_and_records_it_once(
    by: dict[str, Path], tmp_path: Path
) -> None:
    """The tokenizer stands between them, so that they have more than one body."""
    root = Path(shutil.copytree(by["by_command"], tmp_path / "data"))
    keys = [dg.AssetKey([DATASET, stage]) for stage in _STAGES]
    job = build_definitions(root).resolve_implicit_global_asset_job_def()
    with open_instance(root) as instance:
        before = [_recorded(instance, key) for key in keys]
        done = job.execute_in_process(instance=instance, asset_selection=keys, partition_key=REPO)
        after = [_recorded(instance, key) for key in keys]
    assert done.success and not [event.step_key for event in done.all_events if event.is_step_skipped]
    made = [result_of(step_of(open_corpus(root), stage, REPO)).artifact for stage in _STAGES[2:]]
    assert after == [*before[:2], *([artifact.manifest.sha256] for artifact in made)]


def _recorded(instance: dg.DagsterInstance, key: dg.AssetKey) -> list[str]:
    """The manifests of its materialisations."""
    found = [record.asset_materialization for record in instance.fetch_materializations(key, limit=10).records]
    return [(made.tags or {})["dagster/data_version"] for made in found if made is not None]


def test_a_run_of_the_command_line_has_step_events_a_log_and_a_job_that_runs_it_again(by: dict[str, Path]) -> None:
    root = by["by_command"]
    stages = ["pinned_repos", "curated_files", "semantic_jsonl", "tokenizer"]
    with open_instance(root) as instance:
        run = next(run for run in instance.get_runs() if run.op_selection == stages)
        events = [log.dagster_event for log in instance.all_logs(run.run_id) if log.dagster_event]
        key = instance.compute_log_manager.build_log_key_for_run(run.run_id, "command")
        log = instance.compute_log_manager.get_log_data(key).stdout
        assert run.tags["megacpp/command"] == "megacpp run" and run.remote_job_origin is not None
        assert {event.step_key for event in events if event.is_step_success} == set(stages)
        assert {event.step_key for event in events if event.is_step_start} == set(stages)
        recorded = {event.step_key for event in events if event.is_step_materialization}
        assert recorded == set(stages[1:]), "the pinned sources are the ones that are recorded already"
        assert log is not None and f"semantic_jsonl {REPO}: started".encode() in log
        job = build_definitions(root).resolve_job_def(run.job_name)
        again = job.get_subset(op_selection=run.op_selection).execute_in_process(run.run_config, instance=instance)
    assert again.success and not again.asset_materializations_for_node("pinned_repos")


def test_a_partition_that_upstream_lacks_is_removed_again(by: dict[str, Path]) -> None:
    root, unknown = by["by_launched_run"], "sample-kernel@v9.9.9"
    partitions = repo_partitions(DATASET).name or ""
    job = build_definitions(root).resolve_job_def(f"{DATASET}__pinned_repos__curated_files__semantic_jsonl__job")
    with open_instance(root) as instance:
        # Our storage refuses the key. Dagster's own keeps it, as a tag that was deleted since then.
        SqliteEventLogStorage.add_dynamic_partitions(instance.event_log_storage, partitions, [unknown])
        done = job.execute_in_process(instance=instance, partition_key=unknown, raise_on_error=False)
        assert not done.success and instance.get_dynamic_partitions(partitions) == [REPO]


def test_a_missing_folder_shows_as_failed_until_it_is_back(by: dict[str, Path], tmp_path: Path) -> None:
    root = Path(shutil.copytree(by["by_command"], tmp_path / "data"))
    with open_instance(root) as instance:
        assert record_missing(root, instance) == 0
        (root / RAW).rename(tmp_path / "elsewhere")
        assert (record_missing(root, instance), record_missing(root, instance)) == (1, 0)
        (run,) = instance.get_runs(dg.RunsFilter(tags={COMMAND_TAG: MISSING}))
        (failure,) = [
            log for log in instance.all_logs(run.run_id) if log.dagster_event and log.dagster_event.is_step_failure
        ]
        assert run.run_config["resources"]["asked"]["config"]["references"] == [REPO]
        words = [log.message for log in instance.all_logs(run.run_id) if log.step_key == "pinned_repos"]
        assert failure and any(
            f"{DATASET}/pinned_repos {REPO}" in said and "megacpp run --recipe" in said for said in words
        )
        job = build_definitions(root).resolve_job_def(f"{DATASET}__tokenizer__job")
        done = job.execute_in_process(instance=instance, raise_on_error=False)
        (failed,) = [event for event in done.all_events if event.is_step_failure]
        assert f"materialize partition {REPO} of {DATASET}/pinned_repos" in str(
            failed.step_failure_data.user_failure_data
        )
    (tmp_path / "elsewhere").rename(root / RAW)
    by_command(root)
    with open_instance(root) as instance:
        (event,) = instance.fetch_materializations(dg.AssetKey([DATASET, "pinned_repos"]), limit=1).records
        assert event.timestamp > run_ended(instance, run.run_id)


def run_ended(instance: dg.DagsterInstance, run_id: str) -> float:
    return instance.get_run_stats(run_id).end_time or 0.0


def test_an_error_in_a_launched_run_is_one_sentence(pinned: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(pinned, tmp_path / "data"))
    job = build_definitions(root).resolve_job_def(f"{DATASET}__tokenizer__job")
    with open_instance(root) as instance:
        done = job.execute_in_process(instance=instance, raise_on_error=False)
    assert not done.success
    (failure,) = [event for event in done.all_events if event.is_step_failure]
    error = failure.step_failure_data.user_failure_data
    assert error is not None and RAW in str(error.description) and "what to do" in str(error.description)
    assert "\n" not in str(error.description)
