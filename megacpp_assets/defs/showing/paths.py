"""Names of assets, of partitions and of what the event log says of them, for those who may not wait for Dagster."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from megacpp_assets.pipeline.stages import STAGES, Kind

MANIFEST_METADATA: Final = "manifest_sha256"
PATH_METADATA: Final = "path in the data root"
EARLIER_METADATA: Final = "earlier_manifest_sha256"
"""Manifests of the steps that a training run saved before its last."""
DATA_VERSION_TAG: Final = "dagster/data_version"
"""Dagster's own tag of a materialization, which it shows and indexes: the manifest's hash."""

AUDIT_PAGE: Final = "/megacpp/audit"
"""In `megacpp ui`: below it the audit page of each checkpoint, under the hash of its manifest."""
PICTURE_PAGE: Final = "/megacpp/picture"
"""In `megacpp ui`: below it the pictures of each materialization, under the hash of its manifest."""
REPORTS_PAGE: Final = "/megacpp/reports"
"""In `megacpp ui`: the summary that `megacpp quality` prints, with plots."""
DOCS_PAGE: Final = "/megacpp/docs"
"""In `megacpp ui`: what dbt says of the reports."""


def asset_path(dataset: str, stage: str, phase: str = "") -> list[str]:
    """`DATASET/STAGE`, or `DATASET/PHASE/STAGE` where the stage's partitions are mixtures."""
    return [dataset, phase, stage] if phase else [dataset, stage]


def path_of(dataset: str, stage: str, partition: str) -> tuple[list[str], str | None]:
    """The asset and the partition in which Dagster shows the step; None for a stage of one partition."""
    kind = STAGES[stage].kind
    if kind is Kind.MIXTURE:
        specialist, _, phase = partition.partition("/")
        return asset_path(dataset, stage, phase), specialist
    return asset_path(dataset, stage), None if kind is Kind.DATASET else partition


def docs_page(table: str) -> str:
    """Where dbt's docs tell of a table of the reports."""
    return f"{DOCS_PAGE}#!/model/model.dbt_quality.{table}"


def home_of(root: Path) -> Path:
    """What Dagster calls its home: its settings and its database."""
    return root / "dagster"
