"""The documents of a repository by document set (contract/document_sets.py): a folder of shards for each set.

Semantic JSONL, token parquet and enriched parquet have the same folders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact

BUDGETS = "budgets"
"""The key of the budgets in a manifest's configuration, and of their statistics."""


def budgets_of(artifact: Artifact) -> tuple[DocumentSet, ...]:
    """Return the document sets of the artifact: budgets ascending, then those of other dataset versions."""
    return tuple(artifact.manifest.config[BUDGETS])


def shards_of(artifact: Artifact, budget: DocumentSet, suffix: str) -> list[Path]:
    """Return the files with documents of the set `budget` in document order. A validation shard comes last.

    `LineageGap` as for `Artifact.file`, and if the artifact has no documents for that budget.
    """
    if budget not in budgets_of(artifact):
        raise LineageGap(
            artifact.path,
            expected=f"documents of the set {budget}",
            found=", ".join(map(str, budgets_of(artifact))),
            do="add a phase with this set to the curriculum, and run again",
        )
    return artifact.files(suffix, c.of_budget(budget, ""))


def by_budget(
    stats: Mapping[int, Mapping[str, Any]] | Mapping[DocumentSet, Mapping[str, Any]], sums: Sequence[str]
) -> dict[str, Any]:
    """Return the statistics of an artifact: `stats` of each budget, and the totals of the numbers `sums` over all."""
    total = {name: sum(each[name] for each in stats.values()) for name in sums}
    return {**total, BUDGETS: {str(budget): dict(each) for budget, each in stats.items()}}
