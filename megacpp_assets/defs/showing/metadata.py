"""What the UI shows of a materialization: identity, counts, schema, sample rows, and pictures where they tell more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from megacpp_assets.contract.column_notes import DESCRIPTIONS
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.showing.figures import figures
from megacpp_assets.defs.showing.identity import identity
from megacpp_assets.defs.showing.paths import AUDIT_PAGE, DOCS_PAGE, EARLIER_METADATA, MANIFEST_METADATA
from megacpp_assets.defs.showing.pictures import METRICS_FILE, pictures
from megacpp_assets.enriched.totals import CATEGORIES
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.budgets import BUDGETS
from megacpp_assets.storage.parquet import batches, read_schema
from megacpp_assets.tokenizer.report.page import PAGE_FILE, category_page

_SAMPLE_ROWS = 5
_CELL_CHARACTERS = 120
_PER_REPO = "_per_repo"

Metadata = dict[str, Any]


def describe(corpus: Corpus, done: Done) -> Metadata:
    """All metadata of a finished step."""
    artifact = done.artifact
    shown: Metadata = {**figures(done), **identity(corpus, artifact), **pictures(artifact)}
    shown |= {
        "path": dg.MetadataValue.path(str(artifact.directory)),
        "files": _files_table(artifact),
        "inputs": dg.MetadataValue.json([[ref.path, ref.manifest_sha256] for ref in artifact.manifest.inputs]),
        MANIFEST_METADATA: artifact.manifest.sha256,
        "dataset": corpus.dataset,
    }
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


def _tables(stats: Mapping[str, Any]) -> Metadata:
    """Numbers by name, such as the files that were left out by reason; what is told of each repository in one table."""
    told = {
        name: value
        for name, value in stats.items()
        if isinstance(value, dict) and value and all(isinstance(number, int | float) for number in value.values())
    }
    by_repo = {name.removesuffix(_PER_REPO): value for name, value in told.items() if name.endswith(_PER_REPO)}
    shown: Metadata = {
        name: dg.MetadataValue.md("\n".join(["| | |", "|---|---|", *(f"| {key} | {value[key]} |" for key in value)]))
        for name, value in told.items()
        if not name.endswith(_PER_REPO)
    }
    if by_repo:
        repos = sorted(set().union(*by_repo.values()))
        rows = ({"repository": repo, **{name: by_repo[name].get(repo, 0) for name in by_repo}} for repo in repos)
        shown["repositories"] = dg.MetadataValue.table([dg.TableRecord(row) for row in rows])
    return shown


def _budgets(told: Mapping[str, Mapping[str, Any]]) -> Metadata:
    """A table of the numbers of each document budget."""
    if not told:
        return {}
    names = [name for name, value in next(iter(told.values())).items() if isinstance(value, int | float)]
    lines = [f"| | {' | '.join(told)} |", f"|---|{'---|' * len(told)}"]
    lines += [f"| {name} | {' | '.join(str(stats[name]) for stats in told.values())} |" for name in names]
    return {BUDGETS: dg.MetadataValue.md("\n".join(lines))}


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
    schema_columns = [dg.TableColumn(field.name, str(field.type), DESCRIPTIONS.get(field.name)) for field in schema]
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
    lines = artifact.file(METRICS_FILE).read_text(encoding="utf-8").splitlines()
    losses = [float(json.loads(line)["loss"]) for line in lines]
    return {
        "audit page": dg.MetadataValue.url(f"{AUDIT_PAGE}/{artifact.manifest.sha256}"),
        "reports of all partitions": dg.MetadataValue.url(DOCS_PAGE),
        EARLIER_METADATA: " ".join(_earlier_manifests(artifact)),
        "first loss (nats)": losses[0],
        "last loss (nats)": losses[-1],
    }


def _earlier_manifests(artifact: Artifact) -> list[str]:
    """Manifests of the checkpoints that this run saved on its way, so that each of them can be audited too."""
    folder = artifact.path.rpartition("/")[0]
    steps = sorted(path.name for path in (artifact.root / folder).glob("step_*") if path.is_dir())
    found = [find_artifact(artifact.root, f"{folder}/{step}") for step in steps]
    return [saved.manifest.sha256 for saved in found if saved is not None]
