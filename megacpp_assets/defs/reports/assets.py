"""The reports across partitions as assets: one for each table of the dbt project, with its tests as checks."""

# No `from __future__ import annotations` here: Dagster reads the annotations of asset bodies as values.
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.defs.keys import REPORTS, asset_key, report_group, report_key
from megacpp_assets.defs.owners import OWNERS
from megacpp_assets.defs.reports.graph import read_graph
from megacpp_assets.defs.showing.paths import docs_page
from megacpp_assets.pipeline.stages import STAGES, Kind

REPORTS_JOB: Final = f"{REPORTS}__job"
_MADE_BY: Final = "\n\nBuilt by `megacpp quality`, which records it here, or by *Materialize*."


def build_reports(root: Path, corpora: Sequence[Corpus]) -> dg.AssetsDefinition:
    """Return assets for all tables of the project. They are built together, as by `megacpp quality`, after the
    stages that they read.
    """
    tables = read_graph()

    @dg.multi_asset(
        name=REPORTS,
        specs=[_spec(name, table, corpora) for name, table in tables.items()],
        check_specs=[
            dg.AssetCheckSpec(test, asset=report_key(name), description=description)
            for name, table in tables.items()
            for test, description in table["checks"].items()
        ],
    )
    def body(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:  # type: ignore[type-arg]
        from megacpp_assets.defs.reports.body import make_reports

        try:
            yield from make_reports(root)
        except MegacppError as error:
            raise dg.Failure(str(error), allow_retries=False) from None

    return body


def _spec(name: str, table: Mapping[str, Any], corpora: Sequence[Corpus]) -> dg.AssetSpec:
    columns = [dg.TableColumn(column, kind, note) for column, (kind, note) in table["columns"].items()]
    stages = [key for stage in table["stages"] for corpus in corpora for key in _stage_keys(corpus, stage)]
    return dg.AssetSpec(
        report_key(name),
        deps=[*map(report_key, table["tables"]), *stages],
        group_name=report_group(name),
        kinds={"dbt", "duckdb", table["made_as"]},
        owners=OWNERS,
        description=table["description"] + _MADE_BY,
        metadata={
            "dagster/column_schema": dg.TableSchema(columns),
            "columns and tests (dbt docs)": dg.MetadataValue.url(docs_page(name)),
        },
    )


def _stage_keys(corpus: Corpus, stage: str) -> list[dg.AssetKey]:
    phases = corpus.recipe.curriculum if STAGES[stage].kind is Kind.MIXTURE else ("",)
    return [asset_key(corpus.dataset, stage, phase) for phase in phases]
