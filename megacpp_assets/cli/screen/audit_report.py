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
        yield Auditor(root, chain(CHECKPOINT), recorded, quick=quick)


def print_report(report: AuditReport) -> None:
    """Print the verdict in one line, each problem in another, causes before their consequences, and then the advice."""
    verdict = click.style(f"verified: {str(report.verified).lower()}", fg="green" if report.verified else "red")
    tokenizer = report.tokenizer.get("commit", "?")[:SHORT_HASH]
    repos, steps = counted(len(report.repos), "repository"), counted(report.steps, "step")
    files = f"{counted(report.files, 'file')} ({report.bytes / 1e6:,.1f} MB) {'found' if report.quick else 're-hashed'}"
    click.echo(f"{report.checkpoint}  {verdict}  {repos}, tokenizer {tokenizer}, {steps}, {files}")
    if report.quick:
        click.echo("  quick: the seals are trusted and no data file was read; without --quick every byte is")
    for problem in report.problems:
        click.echo(f"  {problem.file}: expected {problem.expected}; found {problem.found}")
    for advice in dict.fromkeys(problem.do for problem in report.problems if problem.do):
        click.echo(f"  what to do: {advice}")
