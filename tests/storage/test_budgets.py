"""Tests of shards by budget: each budget's own files, in order, and a named error for one that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of, by_budget, shards_of
from megacpp_assets.storage.publish import Publication, Target, publish

NAMES = ("4096/shard_00000.parquet", "4096/shard_00001.parquet", "40960/shard_00000.parquet", "symbols.parquet")


def _artifact(root: Path) -> Artifact:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        for name in reversed(NAMES):
            publication.write(name, name.encode())
        return {}

    return publish(Target(root, "parquet/set/fmt@1", "s", "fmt@1", "1", {"budgets": [4096, 16384, 40960]}), produce)


def test_a_budget_has_the_shards_of_its_folder_and_no_others(tmp_path: Path) -> None:
    artifact = _artifact(tmp_path)
    found = {
        budget: [f.read_text() for f in shards_of(artifact, budget, ".parquet")] for budget in budgets_of(artifact)
    }
    assert found == {4096: [*NAMES[:2]], 16384: [], 40960: [NAMES[2]]}


def test_a_missing_budget_is_named_with_the_existing_ones(tmp_path: Path) -> None:
    with pytest.raises(LineageGap, match=r"fmt@1; expected documents of the set 8192; found 4096, 16384, 40960"):
        shards_of(_artifact(tmp_path), 8192, ".parquet")


def test_statistics_are_summed_and_kept_by_budget() -> None:
    stats = {4096: {"documents": 3, "longest": 9}, 65536: {"documents": 2, "longest": 70}}
    assert by_budget(stats, ("documents",)) == {"documents": 5, "budgets": {"4096": stats[4096], "65536": stats[65536]}}
