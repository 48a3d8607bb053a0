"""What the UI shows of a materialization: identity, counts, schema, sample rows, and pictures where they tell more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.charts import histogram, line_chart
from megacpp_assets.defs.paths import EARLIER_METADATA, MANIFEST_METADATA
from megacpp_assets.enriched.totals import CATEGORIES
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.budgets import BUDGETS
from megacpp_assets.storage.parquet import batches, read_schema
from megacpp_assets.storage.work import read_work
from megacpp_assets.tokenizer.report.page import PAGE_FILE, category_page

_SAMPLE_ROWS = 5
_CELL_CHARACTERS = 120
METRICS_FILE = "metrics.jsonl"

Metadata = dict[str, Any]


def describe(corpus: Corpus, done: Done) -> Metadata:
    """All metadata of a finished step."""
    artifact = done.artifact
    shown: Metadata = {
        MANIFEST_METADATA: artifact.manifest.sha256,
        "dataset": corpus.dataset,
        "path": dg.MetadataValue.path(str(artifact.directory)),
        "seconds": done.receipt.seconds,
        "peak_memory_bytes": done.receipt.peak_bytes,
        "bytes": sum(entry.bytes for entry in artifact.manifest.files),
        "files": _files_table(artifact),
        "inputs": dg.MetadataValue.json([[ref.path, ref.manifest_sha256] for ref in artifact.manifest.inputs]),
    }
    shown |= _numbers(artifact.manifest.stats) | read_work(artifact)
    shown |= _tables(artifact.manifest.stats) | _budgets(artifact.manifest.stats.get(BUDGETS, {}))
    if done.receipt.warnings:
        warned = (
            f"- **{check.name}**: expected {check.expected}; found {check.found}" for check in done.receipt.warnings
        )
        shown["warnings"] = dg.MetadataValue.md("\n".join(warned))
    parquet = artifact.files(".parquet")
    if parquet:
        shown |= _table(artifact)
    if CATEGORIES in artifact.manifest.stats:
        page = category_page({artifact.manifest.partition: artifact.manifest.stats[CATEGORIES]})
        shown[CATEGORIES] = dg.MetadataValue.md(page)
    if artifact.manifest.stage == "tokenizer":
        shown["quality"] = dg.MetadataValue.md(artifact.file(PAGE_FILE).read_text(encoding="utf-8"))
    if artifact.manifest.stage == "trained_checkpoint":
        shown |= _training(artifact)
    return shown


def _numbers(stats: Mapping[str, Any]) -> Metadata:
    reserved = {"bytes", "files"}
    return {
        (f"stat_{name}" if name in reserved else name): value
        for name, value in stats.items()
        if isinstance(value, int | float | str)
    }


def _tables(stats: Mapping[str, Any]) -> Metadata:
    """Numbers by name, such as the files that were left out by reason."""
    return {
        name: dg.MetadataValue.md("\n".join(["| | |", "|---|---|", *(f"| {key} | {value[key]} |" for key in value)]))
        for name, value in stats.items()
        if isinstance(value, dict) and value and all(isinstance(number, int | float) for number in value.values())
    }


def _budgets(told: Mapping[str, Mapping[str, Any]]) -> Metadata:
    """A table of the numbers of each document budget, and a picture of the lengths of its documents."""
    if not told:
        return {}
    names = [name for name, value in next(iter(told.values())).items() if isinstance(value, int | float)]
    lines = [f"| | {' | '.join(told)} |", f"|---|{'---|' * len(told)}"]
    lines += [f"| {name} | {' | '.join(str(stats[name]) for stats in told.values())} |" for name in names]
    shown: Metadata = {BUDGETS: dg.MetadataValue.md("\n".join(lines))}
    for budget, stats in told.items():
        if "token_histogram" in stats:
            shown[f"token_lengths_{budget}"] = histogram(stats["token_histogram"], "tokens per document")
    return shown


def _files_table(artifact: Artifact) -> dg.TableMetadataValue:
    records = [
        dg.TableRecord({"file": entry.name, "bytes": entry.bytes, "rows": entry.rows or 0, "sha256": entry.sha256})
        for entry in artifact.manifest.files
    ]
    return dg.MetadataValue.table(records)


def _table(artifact: Artifact) -> Metadata:
    names = [entry.name for entry in artifact.manifest.files if entry.name.endswith(".parquet")]
    path = artifact.file(names[0])
    schema = read_schema(path)
    schema_columns = [dg.TableColumn(field.name, str(field.type)) for field in schema]
    rows = next(batches(path, _SAMPLE_ROWS), None)
    return {
        "dagster/column_schema": dg.TableSchema(columns=schema_columns),
        "sample": dg.MetadataValue.md(_markdown(schema.names, rows.to_pylist() if rows is not None else [])),
    }


def _markdown(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as markdown, one table of (column, value) per row: wide rows read better downwards."""
    parts = []
    for number, row in enumerate(rows):
        lines = [f"**row {number}**", "", "| column | value |", "|---|---|"]
        lines += [f"| {name} | `{_cell(row[name])}` |" for name in names]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        head = ", ".join(str(item) for item in value[:12])
        value = f"{len(value)} values: {head}{', …' if len(value) > 12 else ''}"
    text = str(value).replace("\n", "⏎").replace("|", "\\|").replace("`", "'")
    return text if len(text) <= _CELL_CHARACTERS else text[:_CELL_CHARACTERS] + "…"


def _training(artifact: Artifact) -> Metadata:
    metrics = [json.loads(line) for line in artifact.file(METRICS_FILE).read_text(encoding="utf-8").splitlines()]
    points = [(float(entry["step"]), float(entry["loss"])) for entry in metrics]
    return {
        EARLIER_METADATA: " ".join(_earlier_manifests(artifact)),
        "loss_curve": line_chart(points, "step", "loss"),
        "first_loss": points[0][1],
        "last_loss": points[-1][1],
    }


def _earlier_manifests(artifact: Artifact) -> list[str]:
    """Manifests of the checkpoints that this run saved on its way, so that each of them can be audited too."""
    folder = artifact.path.rpartition("/")[0]
    steps = sorted(path.name for path in (artifact.root / folder).glob("step_*") if path.is_dir())
    found = [find_artifact(artifact.root, f"{folder}/{step}") for step in steps]
    return [saved.manifest.sha256 for saved in found if saved is not None]
