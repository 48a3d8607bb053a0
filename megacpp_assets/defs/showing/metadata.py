"""The metadata of a materialization, most interesting first: links, a picture, figures, pictures, tables, hashes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.showing.figures import figures, other_figures, shortened
from megacpp_assets.defs.showing.gallery import write_pictures
from megacpp_assets.defs.showing.identity import identity
from megacpp_assets.defs.showing.paths import (
    AUDIT_PAGE,
    EARLIER_METADATA,
    HASHES_METADATA,
    MANIFEST_METADATA,
    PATH_METADATA,
    REPORTS_PAGE,
)
from megacpp_assets.defs.showing.pictures import METRICS_FILE, pictures
from megacpp_assets.defs.showing.rows import columns_and_sample
from megacpp_assets.enriched.totals import CATEGORIES
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.stages import CHECKPOINT, TOKENIZER
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.budgets import BUDGETS
from megacpp_assets.tokenizer.report.page import PAGE_FILE, category_page

_PER_REPO: Final = "_per_repo"
_HEADS: Final = {
    "documents_per_budget": ("budget (tokens)", "documents"),
    "skipped_files_by_reason": ("reason", "files"),
    "skipped": ("reason", "definitions"),
    "first_errors": ("first error of the parse", "files"),
}
"""Column heads of tables of numbers by name. All other tables have figures and values."""
_REPO_HEADS: Final = {
    "left_out": "left out (near-duplicates of validation)",
    "copies": "copies of documents of earlier repositories",
    "definitions": "definitions that were compared",
    "definition_copies": "copies of definitions of earlier repositories",
}
"""Column heads of the table of repositories whose statistic does not say enough."""

Metadata = dict[str, Any]


def describe(corpus: Corpus, done: Done) -> Metadata:
    """Return all metadata of a finished step, in the order in which the UI shows them."""
    artifact = done.artifact
    stats = artifact.manifest.stats
    drawn = list(write_pictures(artifact, pictures(artifact)).items())
    return {
        **_links(artifact),
        **dict(drawn[:1]),
        **figures(done),
        **dict(drawn[1:]),
        **_losses(artifact),
        **_warnings(done),
        **columns_and_sample(artifact),
        **_tables(stats),
        **_budgets(stats.get(BUDGETS, {})),
        **_pages(artifact),
        **other_figures(done),
        "dataset": corpus.dataset,
        PATH_METADATA: dg.MetadataValue.path(artifact.path),
        **({"files": _files_table(artifact)} if artifact.manifest.files else {}),
        "inputs": dg.MetadataValue.json([[ref.path, ref.manifest_sha256] for ref in artifact.manifest.inputs]),
        **_hashes(corpus, artifact),
    }


def _hashes(corpus: Corpus, artifact: Artifact) -> Metadata:
    """Return code version and hashes in short, then a JSON with whole hashes, which Dagster copies by a click."""
    facts = {**identity(corpus, artifact), MANIFEST_METADATA: artifact.manifest.sha256}
    return {
        **{name.replace("_", " "): shortened(value) for name, value in facts.items()},
        HASHES_METADATA: dg.MetadataValue.json({**facts, EARLIER_METADATA: _earlier_manifests(artifact)}),
    }


def _links(artifact: Artifact) -> Metadata:
    if artifact.manifest.stage != CHECKPOINT:
        return {}
    return {
        "audit page": dg.MetadataValue.md(f"[audit of {artifact.path}]({AUDIT_PAGE}/{artifact.manifest.sha256})"),
        "reports of all partitions": dg.MetadataValue.url(REPORTS_PAGE),
    }


def _warnings(done: Done) -> Metadata:
    warned = [f"- **{check.name}**: expected {check.expected}; found {check.found}" for check in done.receipt.warnings]
    return {"warnings": dg.MetadataValue.md("\n".join(warned))} if warned else {}


def _pages(artifact: Artifact) -> Metadata:
    """Return pages that the stage wrote, or that are made from its statistics."""
    if artifact.manifest.stage == TOKENIZER:
        return {"quality": dg.MetadataValue.md(artifact.file(PAGE_FILE).read_text(encoding="utf-8"))}
    if CATEGORIES in artifact.manifest.stats:
        page = category_page({artifact.manifest.partition: artifact.manifest.stats[CATEGORIES]})
        return {CATEGORIES: dg.MetadataValue.md(page)}
    return {}


def _tables(stats: Mapping[str, Any]) -> Metadata:
    """Return tables of numbers by name, such as files left out by reason. Numbers of repositories share one table."""
    found = {
        name: value
        for name, value in stats.items()
        if isinstance(value, dict) and value and all(isinstance(number, int | float) for number in value.values())
    }
    by_repo = {name.removesuffix(_PER_REPO): value for name, value in found.items() if name.endswith(_PER_REPO)}
    shown: Metadata = {
        name.replace("_", " "): _markdown_table(_HEADS.get(name, ("figure", "value")), list(value.items()))
        for name, value in found.items()
        if not name.endswith(_PER_REPO)
    }
    if by_repo:
        repos = sorted(set().union(*by_repo.values()))
        rows = [(repo, *(by_repo[name].get(repo, 0) for name in by_repo)) for repo in repos]
        heads = ("repository", *(_REPO_HEADS.get(name, name.replace("_", " ")) for name in by_repo))
        shown["repositories"] = _markdown_table(heads, rows)
    return shown


def _budgets(by_budget: Mapping[str, Mapping[str, Any]]) -> Metadata:
    """Return a table of the numbers of each document budget."""
    if not by_budget:
        return {}
    names = [name for name, value in next(iter(by_budget.values())).items() if isinstance(value, int | float)]
    rows = [(name.replace("_", " "), *(stats[name] for stats in by_budget.values())) for name in names]
    heads = ("figure", *(f"documents of at most {budget} tokens" for budget in by_budget))
    return {BUDGETS: _markdown_table(heads, rows), **_by_rule(by_budget)}


def _by_rule(by_budget: Mapping[str, Mapping[str, Any]]) -> Metadata:
    """Return tables of what became no document, and of documents reduced to single roots, by rule and budget."""
    shown: Metadata = {}
    for figure in ("left_out", "reduced"):
        counts = {name: stats[figure] for name, stats in by_budget.items() if figure in stats}
        rules = sorted(set().union(*counts.values()))
        rows = [(rule, *(found.get(rule, 0) for found in counts.values())) for rule in rules]
        if rows:
            shown[figure.replace("_", " ")] = _markdown_table(("rule", *counts), rows)
    return shown


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> dg.MarkdownMetadataValue:
    """Return a markdown table: names to the left, numbers to the right, with separators of thousands."""
    lines = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    lines += [f"| {row[0]} | {' | '.join(f'{number:,}' for number in row[1:])} |" for row in rows]
    return dg.MetadataValue.md("\n".join(lines))


def _files_table(artifact: Artifact) -> dg.TableMetadataValue:
    """Return a table of the files, with rows where they have any. `manifest.json` has the whole hashes."""
    records = [
        dg.TableRecord(
            {
                "file": entry.name,
                "size (MB)": f"{entry.bytes / 1e6:,.3f}",
                "rows": "" if entry.rows is None else f"{entry.rows:,}",
                "sha256": shortened(entry.sha256),
            }
        )
        for entry in artifact.manifest.files
    ]
    return dg.MetadataValue.table(records)


def _losses(artifact: Artifact) -> Metadata:
    if artifact.manifest.stage != CHECKPOINT:
        return {}
    lines = artifact.file(METRICS_FILE).read_text(encoding="utf-8").splitlines()
    losses = [float(json.loads(line)["loss"]) for line in lines]
    return {"first loss (nats)": round(losses[0], 4), "last loss (nats)": round(losses[-1], 4)}


def _earlier_manifests(artifact: Artifact) -> list[str]:
    """Return the manifests of checkpoints that this run saved before, so that each of them can be audited."""
    if artifact.manifest.stage != CHECKPOINT:
        return []
    folder = artifact.path.rpartition("/")[0]
    steps = sorted(path.name for path in (artifact.root / folder).glob("step_*") if path.is_dir())
    saved = [find_artifact(artifact.root, f"{folder}/{step}") for step in steps]
    return [each.manifest.sha256 for each in saved if each is not None and each.path != artifact.path]
