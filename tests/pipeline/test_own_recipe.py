"""A person's own specialist, phase and catalogue, in a folder of their own: a recipe says it, no code is touched."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest
from roots import megacpp_here, succeed

import megacpp_assets
from megacpp_assets.contract import columns as c
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.storage.artifact import open_artifact

pytestmark = pytest.mark.line

CHECKPOINT = "checkpoints/mine/low_level/8k/step_00000004"


@pytest.fixture(scope="module")
def root(own_line: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the data root that the recipe's run left."""
    return shutil.copytree(own_line.parent, tmp_path_factory.mktemp("mine") / "copy", symlinks=True) / "data"


def test_its_checkpoint_is_audited_and_verified(root: Path) -> None:
    report = json.loads(succeed(root, "audit", str(root / CHECKPOINT), "--json"))
    assert report["verified"] is True, report["problems"]
    assert report["megatron"]["prefix"] == "megatron/mine/low_level/8k/mine_8k_v1_train"


def _train_documents(root: Path, repo: str) -> int:
    files = open_artifact(root, f"enriched/mine/{repo}").files(".parquet")
    return sum(pq.read_metadata(file).num_rows for file in files if file.name != c.VAL_SHARD)


def test_its_rows_have_the_length_of_the_phase_and_each_repository_by_its_weight_and_its_categorys(root: Path) -> None:
    base, special = (open_artifact(root, f"packed/mine/{name}/8k").manifest for name in ("base", "low_level"))
    assert special.stats["row_tokens"] == 8192
    once, taken = base.stats["documents_per_repo"], special.stats["documents_per_repo"]
    for repo, weight, category in (("drivers@v1.0.0", 2.5, 0.5), ("text@v1.0.0", 1, 0.75)):
        count = _train_documents(root, repo)
        assert once[repo] == math.floor(category * count + 0.5) > 0
        assert taken[repo] == math.floor(weight * category * count + 0.5)
    assert special.stats["valid_documents"] == base.stats["valid_documents"]


def test_its_files_open_under_the_name_of_its_dataset_version(root: Path) -> None:
    mixture = megacpp_assets.open(root, "low_level/8k")
    assert mixture.megatron_prefix().name == "mine_8k_v1_train"
    assert mixture.rows().row_tokens == 8192


def test_dagster_shows_its_phase_and_its_specialist(root: Path) -> None:
    graph = build_definitions(root).resolve_asset_graph()
    partitions = graph.get(dg.AssetKey(["mine", "8k", "packed_rows"])).partitions_def
    assert partitions is not None and partitions.get_partition_keys() == ["base", "low_level"]


def test_a_specialist_or_phase_that_the_recipe_does_not_have_is_rejected(root: Path) -> None:
    recipe = str(root.parent / "mine.toml")
    for words, said in (
        (("--specialists", "drivers"), "base, low_level"),
        (("--phases", "32k"), "add [phases.32k]"),
    ):
        done = megacpp_here(root, "run", "--recipe", recipe, *words)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr


def test_a_run_of_one_repository_has_the_specialists_that_it_suffices_for(root: Path) -> None:
    recipe = str(root.parent / "mine.toml")
    succeed(root, "run", "--recipe", recipe, "--repos", "text", "--until", "pinned_repos")
    assert open_corpus(root, "mine__text").specialists == ("base",)
