"""The Dagster graph: cheap to load, the shape that is written down, fan-in over locked partitions only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.contract.lock.corpus_lock import CorpusLock, RepoPin
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.keys import asset_key, key_of, partition_of
from megacpp_assets.pipeline.stages import COMPARED, Kind, stages_of
from megacpp_assets.quality.shared import release
from megacpp_assets.storage.root.lock_file import update_lock
from megacpp_assets.storage.root.recipes import keep_recipe

GRAPH = Path(__file__).with_name("graph.json")


def _lock(root: Path, *keys: str, dataset: str = "d") -> None:
    pins = tuple(
        RepoPin(name, ref, f"refs/tags/{ref}", "0" * 40, "sample://x", "MIT", "")
        for name, ref in (key.split("@") for key in keys)
    )
    recipe = keep_recipe(root, load_recipe("sample"))
    update_lock(root, lambda lock: lock.with_corpus(CorpusLock(dataset, recipe, pins)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root whose dataset `d` pins two repositories."""
    _lock(tmp_path, "a@v2", "b@v1")
    return tmp_path


def _graph(root: Path) -> dict[str, object]:
    graph = build_definitions(root).resolve_asset_graph()
    return {
        key.to_user_string(): {
            "group": graph.get(key).group_name,
            "kinds": sorted(graph.get(key).kinds),
            "owners": sorted(graph.get(key).owners),
            "upstream": sorted(parent.to_user_string() for parent in graph.get(key).parent_keys),
            "checks": sorted(check.name for check in graph.get(key).check_keys),
            "partitioned": graph.get(key).is_partitioned,
        }
        for key in sorted(graph.get_all_asset_keys())
    }


def test_the_graph_is_the_one_written_down(root: Path) -> None:
    """After a deliberate change, write the new graph: `python tests/defs/test_definitions.py`."""
    assert _graph(root) == json.loads(GRAPH.read_text())


def test_a_root_without_pins_has_definitions_without_assets(tmp_path: Path) -> None:
    assert not _graph(tmp_path)


def test_every_stage_is_an_asset_with_a_description_and_checks_that_block_unless_they_only_warn(root: Path) -> None:
    graph = build_definitions(root).resolve_asset_graph()
    for stage in stages_of(load_recipe("sample")):
        node = graph.get(asset_key("d", stage.name, "4k" if stage.kind is Kind.MIXTURE else ""))
        assert node.description
        assert node.check_keys
        blocking = {check.name: check.blocking for check in stage.quality.CHECKS}
        blocking |= {check.name: False for check in release.CHECKS if stage.name == COMPARED}
        assert {key.name: graph.get(key).blocking for key in node.check_keys} == blocking
        assert any(graph.get(key).blocking for key in node.check_keys)


def test_a_check_has_the_partitions_of_its_asset(root: Path) -> None:
    graph = build_definitions(root).resolve_asset_graph()
    for key in graph.asset_check_keys:
        assert graph.get(key).partitions_def == graph.get(key.asset_key).partitions_def


def test_stages_come_before_reports_in_the_order_of_the_ui_and_staging_views_come_last(root: Path) -> None:
    graph = build_definitions(root).resolve_asset_graph()
    groups = [graph.get(key).group_name for key in sorted(graph.get_all_asset_keys())]
    firsts = list(dict.fromkeys("stages" if not group.startswith("reports") else group for group in groups))
    assert firsts == ["stages", "reports", "reports_staging"]


def test_the_job_of_the_line_has_an_op_for_each_stage(root: Path) -> None:
    job = build_definitions(root).resolve_job_def("d__line__job")
    assert {node.name for node in job.nodes} == {stage.name for stage in stages_of(load_recipe("sample"))}


def test_every_dataset_of_the_root_has_assets_and_jobs_of_its_own(root: Path) -> None:
    _lock(root, "c@v3", dataset="other")
    definitions = build_definitions(root)
    graph = definitions.resolve_asset_graph()
    keys = {key.path[0]: [key.path for key in graph.get_all_asset_keys()] for key in graph.get_all_asset_keys()}
    assert set(keys) == {"d", "other", "z_reports", "z_reports_staging"}
    jobs = [job.name for job in definitions.resolve_all_job_defs() if not job.name.startswith("__")]
    assert sorted(jobs) == sorted(set(jobs)) and {job.split("__")[0] for job in jobs} == {"d", "other", "quality"}


HEAVY = (
    "dbt",
    "dagster_dbt",
    "duckdb",
    "torch",
    "numpy",
    "pyarrow",
    "google.cloud",
    "megacpp_assets.pipeline.run",
    "megacpp_assets.defs.recording.records",
)


def test_loading_the_graph_imports_neither_what_reads_data_nor_what_runs_steps(root: Path) -> None:
    load = "import sys, megacpp_assets.definitions as loaded; assert loaded.defs.assets"
    code = f"{load}; print([module for module in {HEAVY} if module in sys.modules])"
    environment = {**os.environ, "MEGACPP_DATA_ROOT": str(root)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("key", "upstream"),
    [(["d", "4k", "packed_rows"], ["d", "v6_enriched"]), (["d", "tokenizer"], ["d", "pinned_repos"])],
)
def test_fan_in_reads_the_locked_partitions_and_no_other_tag(root: Path, key: list[str], upstream: list[str]) -> None:
    graph = build_definitions(root).resolve_asset_graph()
    mapping = graph.get(dg.AssetKey(key)).partition_mappings[dg.AssetKey(upstream)]
    assert mapping == dg.SpecificPartitionsPartitionMapping(["a@v2", "b@v1"])


@pytest.mark.parametrize(
    ("stage", "partition"), [("tokenizer", "d"), ("v6_enriched", "a@v2"), ("packed_rows", "small_cpp/4k")]
)
def test_a_step_survives_the_way_through_dagsters_keys(stage: str, partition: str) -> None:
    assert partition_of("d", *key_of("d", stage, partition)) == (stage, partition)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        _lock(Path(name), "a@v2", "b@v1")
        GRAPH.write_text(json.dumps(_graph(Path(name)), indent=2, sort_keys=True) + "\n")
