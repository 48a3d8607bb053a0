"""The share of documents that compile: drawn documents of a repository, each parsed alone by libclang.

A second figure leaves out documents that include a header of another library, whose names no document can show. Beside
the share stand the context recall and the replication of all documents.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from _harness import Figure, report
from _libclang import load_library
from alone import document_of, drawn, made, standards_of
from semantic import entries

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.semantic.documents.measures.errors import (
    ERROR_KINDS,
    Error,
    errors_of,
    kind_of,
    kinds_of,
    missing_headers,
)
from megacpp_assets.storage.artifact import Artifact


def report_compiling(options: argparse.Namespace) -> None:
    """Print the share of each repository and budget that `options` name, then the documents with each kind of error."""
    budgets = tuple(sorted(set(options.budgets or [DOCUMENT_TOKENS])))
    for entry in entries(options.sources):
        with made(entry, options.work, options.settings, budgets) as (artifact, _, toolchain):
            load_library(toolchain)
            standards = standards_of(artifact)
            for budget in budgets:
                records = drawn(artifact, options.documents, (), budget)
                arguments = ["-resource-dir", toolchain.resource_dir]
                parsed = [errors_of(document_of(each, standards), arguments) for each in records]
                found = [[each for each in errors if kind_of(each.message) in ERROR_KINDS] for errors in parsed]
                _report(entry, budget, found)
                own = [errors for errors, every in zip(found, parsed, strict=True) if not _foreign(every, standards)]
                _report_own(entry, budget, own)
                _report_context(entry, budget, artifact)
                if options.errors:
                    _print_errors(records, found)


def _report(entry: CatalogueEntry, budget: int, found: Sequence[Sequence[Error]]) -> None:
    what = f"of {entry.name} {entry.ref}, {budget} tokens, {len(found)} drawn"
    clean = sum(not errors for errors in found)
    report(Figure("documents", f"documents that compile {what}", "per cent"), 100 * clean / len(found))
    kinds = Counter(kind for errors in found for kind in kinds_of(errors))
    for kind in ERROR_KINDS:
        report(
            Figure("documents", f"documents with an error {kind} {what}", "per cent"), 100 * kinds[kind] / len(found)
        )


def _report_own(entry: CatalogueEntry, budget: int, found: Sequence[Sequence[Error]]) -> None:
    what = f"of {entry.name} {entry.ref}, {budget} tokens, {len(found)} drawn that include no other library"
    clean = sum(not errors for errors in found)
    report(Figure("documents", f"documents that compile {what}", "per cent"), 100 * clean / max(1, len(found)))


def _report_context(entry: CatalogueEntry, budget: int, artifact: Artifact) -> None:
    """Print the share of the names that roots use and documents declare, and how often a shown character is shown."""
    figures = artifact.manifest.stats["budgets"][str(budget)]
    what = f"of {entry.name} {entry.ref}, {budget} tokens"
    report(Figure("documents", f"context recall {what}", "per cent"), 100 * figures["context_recall"])
    report(Figure("documents", f"replication {what}", "times"), figures["replication"])


def _foreign(errors: Sequence[Error], paths: Mapping[str, str]) -> list[str]:
    """The missing headers that are no files of the repository: of another library, or of another platform."""
    return [name for name in missing_headers(errors) if not any(f"/{path}".endswith(f"/{name}") for path in paths)]


def _print_errors(records: Sequence[Mapping[str, Any]], found: Sequence[Sequence[Error]]) -> None:
    for each, errors in zip(records, found, strict=True):
        first = "; ".join(error.message for error in errors[:5])
        print(f"{each[c.FILEPATH]}:{each[c.BYTE_START]} {each[c.DOC_ID]} {len(errors)}: {first}")
