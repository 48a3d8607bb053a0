"""Bytes and tokens by category: every byte of the text and every token but BOS is in exactly one."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.enriched.stage import V6EnrichedSpec, run
from megacpp_assets.enriched.totals import CATEGORIES
from megacpp_assets.storage.artifact import Artifact
from tests.enriched.test_stage import prepare
from tests.tokenized.documents import BUDGETS, DATASET, REPO


def slowly(source: Artifact, enriched: Artifact) -> dict[str, dict[str, int]]:
    """The same numbers character by character and token by token."""
    totals = {name: {"bytes": 0, "tokens": 0} for name in STRUCTURE_CATEGORIES}
    for before, after in zip(source.files(".parquet"), enriched.files(".parquet"), strict=True):
        for row in pq.read_table(before).to_pylist():
            for character, category in zip(row[c.TEXT], row[c.STRUCTURE_IDS], strict=True):
                totals[STRUCTURE_CATEGORIES[category]]["bytes"] += len(character.encode())
        for row in pq.read_table(after).to_pylist():
            for category in row[c.TOKEN_STRUCTURE_IDS_COLUMN][1:]:
                totals[STRUCTURE_CATEGORIES[category]]["tokens"] += 1
    return totals


def test_categories_share_out_all_bytes_and_all_tokens_but_bos(tmp_path: Path) -> None:
    source = prepare(tmp_path, 12)
    artifact = run(V6EnrichedSpec(tmp_path, DATASET, REPO, BUDGETS))
    stats = artifact.manifest.stats
    assert stats[CATEGORIES] == slowly(source, artifact)
    assert sum(part["bytes"] for part in stats[CATEGORIES].values()) == stats["text_bytes"]
    assert sum(part["tokens"] for part in stats[CATEGORIES].values()) == stats["tokens"] - stats["documents"]
    assert sum(part["bytes"] > 0 for part in stats[CATEGORIES].values()) > 1
