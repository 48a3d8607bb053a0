"""`megacpp quality`: reports across all partitions, with tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from megacpp_assets.cli.options import data_root_option
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.root.layout import ARTIFACT_FOLDERS
from megacpp_assets.storage.root.layout import data_root as resolve_root

if TYPE_CHECKING:
    from pathlib import Path

    from megacpp_assets.reports.build import Build
    from megacpp_assets.reports.outcome import DbtOutcome

_CELL_CHARACTERS = 100


@click.command("quality")
@data_root_option
def quality_command(data_root: str | None) -> None:
    """Make and test tables across all partitions of a data root.

    The tables are about corpus, mixtures, packing, duplicates, index, drift and checkpoints. dbt makes them in
    quality/quality.duckdb of the data root, tests them and documents them. If a test fails, the exit code is 1, and the
    failed rows stay in the database.
    """
    from megacpp_assets.cli.screen.bars import wide_console
    from megacpp_assets.defs.commands.reports import record_reports
    from megacpp_assets.reports.place import database

    root = resolve_root(data_root)
    if not any((root / folder).is_dir() for folder in ARTIFACT_FOLDERS):
        raise SpecError(f"data root {root}", expected="artifacts to report on", found="none", do="megacpp run")
    console = wide_console()
    with console.status("dbt builds the reports"):
        report = record_reports(root)
    for dataset, lines in report.summaries.items():
        console.print(f"[bold]{dataset}[/]")
        for label, sentence in lines:
            console.print(f"  {label:<14} {sentence}", highlight=False, markup=False, soft_wrap=True)
    _say(root, report)
    click.echo(f"page      {report.page}\ndocs      {report.docs}\ndatabase  {database(root)}")
    if report.failures:
        raise click.exceptions.Exit(1)


def _say(root: Path, report: Build) -> None:
    """Print the result in one line, and each failure or warning in two more."""
    from megacpp_assets.reports.summary import failing_rows

    for mark, colour, outcomes in (("FAILED", "red", report.failures), ("warned", "yellow", report.warnings)):
        for outcome in outcomes:
            click.secho(f"{mark}  {outcome.name}: {_found(outcome)}", fg=colour)
            for row in failing_rows(root, outcome.table) if outcome.kind == "test" else ():
                click.echo("        " + ", ".join(f"{name} {_cell(value)}" for name, value in row.items()))
    models = sum(outcome.kind == "model" for outcome in report.outcomes)
    tests = sum(outcome.kind == "test" for outcome in report.outcomes)
    failed, warned = len(report.failures), len(report.warnings)
    click.secho(
        f"{models} tables, {tests} tests: {failed} failed, {warned} warned", fg="red" if failed else "green", bold=True
    )


def _found(outcome: DbtOutcome) -> str:
    if outcome.kind == "test" and outcome.rows:
        return f"{outcome.rows} rows in {outcome.table}"
    return outcome.message or outcome.status


def _cell(value: object) -> str:
    text = str(value)
    return text if len(text) <= _CELL_CHARACTERS else f"{text[:_CELL_CHARACTERS]}…"
