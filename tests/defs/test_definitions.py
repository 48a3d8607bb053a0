"""The Dagster graph: cheap to load, the shape that is written down, fan-in over locked partitions only."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.contract.corpus_lock import CorpusLock, LockFile, RepoPin
from megacpp_assets.contract.names import STAGES
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.defs.build import JOBS, build_definitions
from megacpp_assets.defs.partitions import SPECIALISTS, mixture_key, mixture_of
from megacpp_assets.pipeline.checks import WARNING_CHECKS
from megacpp_assets.repos.catalogue import load_catalogue
from megacpp_assets.storage.lock_file import update_lock

GRAPH = Path(__file__).with_name("graph.json")


def _lock(root: Path, *keys: str) -> None:
    pins = tuple(
        RepoPin(name, ref, f"refs/tags/{ref}", "0" * 40, "sample://x", "MIT", "")
        for name, ref in (key.split("@") for key in keys)
    )
    update_lock(root, lambda lock: LockFile().with_corpus(CorpusLock("d", "sample", pins)))


def _graph(definitions: dg.Definitions) -> dict[str, object]:
    graph = definitions.resolve_asset_graph()
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


def test_the_graph_is_the_one_written_down(tmp_path: Path) -> None:
    """After a deliberate change, write the new graph: `python tests/defs/test_definitions.py`."""
    assert _graph(build_definitions(tmp_path)) == json.loads(GRAPH.read_text())


def test_every_stage_is_an_asset_with_a_description_and_checks_that_block_unless_they_only_warn(tmp_path: Path) -> None:
    graph = build_definitions(tmp_path).resolve_asset_graph()
    for stage in STAGES:
        node = graph.get(dg.AssetKey(stage))
        assert node.description
        assert node.check_keys
        assert all(graph.get(key).blocking != ((stage, key.name) in WARNING_CHECKS) for key in node.check_keys)
        assert any(graph.get(key).blocking for key in node.check_keys)


def test_every_job_loads(tmp_path: Path) -> None:
    definitions = build_definitions(tmp_path)
    assert [definitions.resolve_job_def(name).name for name in JOBS] == list(JOBS)


def test_loading_definitions_imports_neither_torch_nor_the_cloud() -> None:
    code = "import sys, megacpp_assets.definitions; print([m for m in ('torch', 'google.cloud') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("stage", "upstream"), [("packed_rows", "v6_enriched"), ("tokenizer", "pinned_repos")])
def test_fan_in_reads_the_locked_partitions_and_no_other_tag(tmp_path: Path, stage: str, upstream: str) -> None:
    _lock(tmp_path, "a@v2", "b@v1")
    graph = build_definitions(tmp_path).resolve_asset_graph()
    mapping = graph.get(dg.AssetKey(stage)).partition_mappings[dg.AssetKey(upstream)]
    assert mapping == dg.SpecificPartitionsPartitionMapping(["a@v2", "b@v1"])


def test_mixture_keys_survive_the_way_through_dagster() -> None:
    mixture = Mixture("small_cpp", "4k")
    assert mixture_of(str(mixture_key(mixture))) == mixture


def test_every_specialist_of_the_catalogues_is_a_partition(tmp_path: Path) -> None:
    for name in ("sample", "upstream"):
        assert {entry.specialist for entry in load_catalogue(name, tmp_path).values()} <= set(SPECIALISTS)


if __name__ == "__main__":
    GRAPH.write_text(json.dumps(_graph(build_definitions(Path("/nonexistent"))), indent=2, sort_keys=True) + "\n")
