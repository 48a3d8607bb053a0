"""Stage `v6_enriched`: from token parquet to token-level columns, shard by shard, with one row group in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from megacpp_assets.contract.columns import of_budget
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.document_sets import DocumentSet, tokens_of
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import documents_at_once
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.schemas import DOCUMENT_COLUMNS, ENRICHED, ROW_GROUP_ROWS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.enriched.materialize import has_materialized_token_metadata, materialize_table
from megacpp_assets.enriched.totals import EnrichedTotals
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS, shards_of
from megacpp_assets.storage.parquet import RowGroupWriter, row_groups
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import enriched_path, parquet_path

VERSION: Final = str(11 + DOCUMENT_COLUMNS)


@dataclass(frozen=True, slots=True)
class V6EnrichedSpec:
    """One repository of one dataset, with documents of each of the sets `budgets`."""

    root: Path
    dataset: str
    repo: RepoRef
    budgets: tuple[DocumentSet, ...]


def spec(corpus: Corpus, partition: str) -> V6EnrichedSpec:
    """Return the spec of the partition `NAME@REF` of `corpus`."""
    return V6EnrichedSpec(corpus.root, corpus.dataset, RepoRef.parse(partition), corpus.recipe.document_sets)


def target(spec: V6EnrichedSpec) -> Target:
    """Return the work of enriching one repository."""
    return Target(
        root=spec.root,
        path=enriched_path(spec.dataset, spec.repo),
        stage="v6_enriched",
        partition=spec.repo.key,
        version=VERSION,
        config={"dataset": spec.dataset, BUDGETS: list(spec.budgets)},
        inputs=(parquet_path(spec.dataset, spec.repo),),
    )


def run(spec: V6EnrichedSpec, progress: Progress = silent) -> Artifact:
    """Enrich the repository's token parquet. A current artifact is returned unchanged.

    Raises `LineageGap` for a missing or changed input, and `SchemaViolation` for an input without valid spans.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        (source,) = inputs
        total = sum(entry.rows or 0 for entry in source.manifest.files)
        totals = EnrichedTotals()
        files = [(budget, file) for budget in spec.budgets for file in shards_of(source, budget, ".parquet")]
        for budget, file in files:
            rows = documents_at_once(ROW_GROUP_ROWS, tokens_of(budget))
            with (
                publication.file(of_budget(budget, file.name)) as pending,
                RowGroupWriter(pending.path, ENRICHED, group_rows=rows) as writer,
            ):
                for table in row_groups(file):
                    writer.write(_enriched(table, totals))
                    progress(totals.documents, total)
                pending.rows = writer.rows
        return totals.as_stats()

    return publish(target(spec), produce)


def _enriched(table: pa.Table, totals: EnrichedTotals) -> pa.Table:
    enriched = materialize_table(table)
    if not has_materialized_token_metadata(enriched):
        raise SchemaViolation("enriched batch", expected="metadata for every token and chunk", found="a misfit")
    totals.add(table, enriched)
    return enriched
