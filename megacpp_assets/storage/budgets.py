"""The documents of a repository by their set (contract/document_sets.py): a folder of shards for each.

So it is in semantic JSONL, token parquet and enriched parquet alike, whatever the number of budgets.
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
"""Key of the budgets in a manifest's configuration, and of what its statistics tell of each."""


def budgets_of(artifact: Artifact) -> tuple[DocumentSet, ...]:
    """The document sets of the artifact: budgets ascending, then those of other dataset versions."""
    return tuple(artifact.manifest.config[BUDGETS])


def shards_of(artifact: Artifact, budget: DocumentSet, suffix: str) -> list[Path]:
    """The files with documents of the set `budget`, in document order, the validation shard last where there is one.

    `LineageGap` as for `Artifact.file`, and where no documents were made for that budget.
    """
    if budget not in budgets_of(artifact):
        raise LineageGap(
            artifact.path,
            expected=f"documents of the set {budget}",
            found=", ".join(map(str, budgets_of(artifact))),
            do="add a phase that takes them to the curriculum, and run again",
        )
    return artifact.files(suffix, c.of_budget(budget, ""))


def by_budget(
    told: Mapping[int, Mapping[str, Any]] | Mapping[DocumentSet, Mapping[str, Any]], sums: Sequence[str]
) -> dict[str, Any]:
    """Statistics of an artifact: what was `told` of each budget, and `sums` of these numbers over all of them."""
    total = {name: sum(stats[name] for stats in told.values()) for name in sums}
    return {**total, BUDGETS: {str(budget): dict(stats) for budget, stats in told.items()}}
