"""`megacpp audit`: what a checkpoint was made from, proved by reading all of it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from megacpp_assets.cli.bars import wide_console
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.lineage.audit import Auditor, AuditReport


@click.command("audit")
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def audit_command(checkpoint: Path, as_json: bool) -> None:
    """Prove what CHECKPOINT was made from.

    Walks checkpoint, bin/idx, rows, enriched, tokens, tokenizer commit, JSONL and repository commits, re-hashing every
    file, and compares with Dagster's event log. Exit code 0 only if all agree; a changed file is named.
    """
    root, path = split_checkpoint(checkpoint)
    with open_auditor(root) as auditor:
        report = auditor.audit(path)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        print_report(report, wide_console())
    if not report.verified:
        raise click.exceptions.Exit(1)


def split_checkpoint(checkpoint: Path) -> tuple[Path, str]:
    """The data root and the path below it, from `…/checkpoints/<dataset>/<specialist>/<phase>[/step_N]`."""
    full = checkpoint.resolve()
    if not full.name.startswith("step_"):
        steps = sorted(path.name for path in full.glob("step_*") if path.is_dir())
        if not steps:
            raise SpecError(
                f"checkpoint {checkpoint}", expected="a step_N directory or one that holds some", found="none"
            )
        full = full / steps[-1]
    if "checkpoints" not in full.parts:
        raise SpecError(f"checkpoint {checkpoint}", expected="a path below DATA_ROOT/checkpoints", found=str(full))
    place = len(full.parts) - 1 - full.parts[::-1].index("checkpoints")
    return Path(*full.parts[:place]), "/".join(full.parts[place:])


@contextmanager
def open_auditor(root: Path) -> Iterator[Auditor]:
    """An auditor that asks the Dagster instance of `root`."""
    from megacpp_assets.defs.event_log import event_log
    from megacpp_assets.defs.instance import open_instance
    from megacpp_assets.pipeline.stages import STAGE_NAMES

    with open_instance(root) as instance:
        yield Auditor(root, STAGE_NAMES, event_log(instance))


def print_report(report: AuditReport, console: Console) -> None:
    """The verdict in a line; every problem in one more."""
    verdict = "[green]verified: true[/]" if report.verified else "[red]verified: false[/]"
    tokenizer = report.tokenizer.get("commit", "?")[:12]
    repos = len(report.repos)
    console.print(f"{report.checkpoint}  {verdict}  {repos} repositories, tokenizer {tokenizer}, {report.steps} steps")
    for problem in report.problems:
        console.print(f"  {problem.file}: expected {problem.expected}; found {problem.found}", highlight=False)
