"""Names of assets, partitions and event metadata, for code that must not load Dagster."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from megacpp_assets.pipeline.stages import STAGES, Kind

HASHES_METADATA: Final = "hashes in full"
"""JSON, which Dagster shows and copies by a click, with the next two keys among others. Logs of earlier versions have
those as text entries of their own.
"""
MANIFEST_METADATA: Final = "manifest_sha256"
PATH_METADATA: Final = "path in the data root"
EARLIER_METADATA: Final = "earlier_manifest_sha256"
"""Manifests of the checkpoints that a training run saved before its last one: a list, or text with spaces."""
DATA_VERSION_TAG: Final = "dagster/data_version"
"""The tag of a materialization that Dagster shows and indexes: the manifest's hash."""

AUDIT_PAGE: Final = "/megacpp/audit"
"""In `megacpp ui`: the folder of audit pages, each named by the hash of a checkpoint's manifest."""
PICTURE_PAGE: Final = "/megacpp/picture"
"""In `megacpp ui`: below it the pictures of each materialization, under the hash of its manifest."""
REPORTS_PAGE: Final = "/megacpp/reports"
"""In `megacpp ui`: the summary that `megacpp quality` prints, with plots."""
DOCS_PAGE: Final = "/megacpp/docs"
"""In `megacpp ui`: dbt's documentation of the reports."""


def asset_path(dataset: str, stage: str, phase: str = "") -> list[str]:
    """Return `DATASET/STAGE`, or `DATASET/PHASE/STAGE` where the stage's partitions are mixtures."""
    return [dataset, phase, stage] if phase else [dataset, stage]


def path_of(dataset: str, stage: str, partition: str) -> tuple[list[str], str | None]:
    """Return the asset and the partition in which Dagster shows the step. The partition is None for a stage with
    only one.
    """
    kind = STAGES[stage].kind
    if kind is Kind.MIXTURE:
        specialist, _, phase = partition.partition("/")
        return asset_path(dataset, stage, phase), specialist
    return asset_path(dataset, stage), None if kind is Kind.DATASET else partition


def docs_page(table: str) -> str:
    """Return the page of dbt's documentation for a table of the reports."""
    return f"{DOCS_PAGE}#!/model/model.dbt_quality.{table}"


def home_of(root: Path) -> Path:
    """Return Dagster's home: its settings and its database."""
    return root / "dagster"
