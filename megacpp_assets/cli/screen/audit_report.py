"""Audits a checkpoint with the records of Dagster, and prints the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import click

from megacpp_assets.cli.screen.words import counted
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.lineage.audit import Auditor, AuditReport

SHORT_HASH = 12
"""Digits of a hash that are printed."""


@contextmanager
def open_auditor(root: Path, *, quick: bool = False) -> Iterator[Auditor]:
    """Return an auditor that reads Dagster's event log of `root`."""
    from megacpp_assets.defs.home.event_log import event_log
    from megacpp_assets.pipeline.stages import CHECKPOINT, chain

    with event_log(root) as recorded:
        yield Auditor(root, chain(CHECKPOINT), recorded, quick=quick, earlier_recipe=partial(_earlier_recipe, root))


def _earlier_recipe(root: Path, checkpoint: str) -> str:
    """Return the file of the recipe that trained `checkpoint`; "" if the present one did, or if it is unknown."""
    from megacpp_assets.lineage.history import read_history
    from megacpp_assets.pipeline.corpus import open_corpus
    from megacpp_assets.pipeline.trained_by import earlier_recipe
    from megacpp_assets.storage.root.recipes import recipe_path

    with suppress(LineageGap, SpecError):
        corpus = open_corpus(root, checkpoint.split("/")[1])
        if sha256 := earlier_recipe(corpus, read_history(root), checkpoint):
            return str(recipe_path(root, sha256))
    return ""


def print_report(report: AuditReport) -> None:
    """Print the verdict in one line, each problem in another, causes before their consequences, and then the advice."""
    verdict = click.style(f"verified: {str(report.verified).lower()}", fg="green" if report.verified else "red")
    tokenizer = report.tokenizer.get("commit", "?")[:SHORT_HASH]
    names = {repo["name"] for repo in report.repos}
    repos, steps = counted(len(names), "repository"), counted(report.steps, "step")
    if len(names) < len(report.repos):
        repos += f" at {counted(len(report.repos), 'reference')}"
    files = f"{counted(report.files, 'file')} ({report.bytes / 1e6:,.1f} MB) {'found' if report.quick else 're-hashed'}"
    click.echo(f"{report.checkpoint}  {verdict}  {repos}, tokenizer {tokenizer}, {steps}, {files}")
    if report.quick:
        click.echo("  quick: the seals are trusted and no data file was read; without --quick every byte is")
    for problem in report.problems:
        click.echo(f"  {problem.file}: expected {problem.expected}; found {problem.found}")
    for advice in dict.fromkeys(problem.do for problem in report.problems if problem.do):
        click.echo(f"  what to do: {advice}")
