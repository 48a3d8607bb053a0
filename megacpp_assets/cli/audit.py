"""`megacpp audit`: what a checkpoint was made from, proved by reading all of it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from megacpp_assets.cli.options import data_root_option
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.lineage.audit import Auditor, AuditReport
from megacpp_assets.storage.layout import data_root as resolve_root
from megacpp_assets.storage.lock_file import read_lock

_DEPTH = 5
"""Parts of a checkpoint's path below the data root: checkpoints/DATASET/SPECIALIST/PHASE/step_N."""


@click.command("audit")
@click.argument("checkpoint")
@click.option("--quick", is_flag=True, help="Trust the seals: compare manifests, locks and events, read no data file.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@data_root_option
def audit_command(checkpoint: str, quick: bool, as_json: bool, data_root: str | None) -> None:
    """Prove what CHECKPOINT was made from.

    Walks checkpoint, bin/idx, rows, enriched, tokens, tokenizer commit, JSONL and repository commits, re-hashing every
    file, and compares with Dagster's event log. Exit code 0 only if all agree; a changed file is named.

    CHECKPOINT is a folder, with its step or for its last one; below --data-root also checkpoints/… or
    SPECIALIST/PHASE of the active dataset. A data root may have been moved or copied.
    """
    root, path = find_checkpoint(checkpoint, data_root)
    with open_auditor(root, quick=quick) as auditor:
        report = auditor.audit(path)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        print_report(report)
    if not report.verified:
        raise click.exceptions.Exit(1)


def find_checkpoint(text: str, data_root: str | None) -> tuple[Path, str]:
    """The data root and the path below it of the checkpoint that `text` names; `SpecError` where there is none."""
    for place in _places(text, data_root):
        if not place.is_dir():
            continue
        full = _with_step(place.resolve())
        if full is not None and full.parts[-_DEPTH] == "checkpoints":
            return full.parents[_DEPTH - 1], "/".join(full.parts[-_DEPTH:])
    raise SpecError(
        f"checkpoint {text}",
        expected="…/checkpoints/DATASET/SPECIALIST/PHASE[/step_N], or SPECIALIST/PHASE of the active dataset",
        found="no checkpoint there",
        do="name its folder, or the data root with --data-root",
    )


def _places(text: str, data_root: str | None) -> Iterator[Path]:
    """Where a checkpoint may be meant: as a path from here, then below the data root."""
    if data_root is None:
        yield Path(text).expanduser()
    root = resolve_root(data_root)
    yield root / text
    if root.is_dir():
        yield root / "checkpoints" / read_lock(root).active / text


def _with_step(folder: Path) -> Path | None:
    """The folder of a step, or of the last step below it."""
    if not folder.name.startswith("step_"):
        steps = sorted(path for path in folder.glob("step_*") if path.is_dir())
        if not steps:
            return None
        folder = steps[-1]
    return folder if len(folder.parts) > _DEPTH else None


@contextmanager
def open_auditor(root: Path, *, quick: bool = False) -> Iterator[Auditor]:
    """An auditor that asks Dagster's event log of `root`."""
    from megacpp_assets.defs.event_log import event_log
    from megacpp_assets.pipeline.stages import CHECKPOINT, chain

    with event_log(root) as recorded:
        yield Auditor(root, chain(CHECKPOINT), recorded, quick=quick)


def print_report(report: AuditReport) -> None:
    """The verdict in a line; every problem in one more."""
    verdict = click.style(f"verified: {str(report.verified).lower()}", fg="green" if report.verified else "red")
    tokenizer, repos = report.tokenizer.get("commit", "?")[:12], len(report.repos)
    click.echo(f"{report.checkpoint}  {verdict}  {repos} repositories, tokenizer {tokenizer}, {report.steps} steps")
    if report.quick:
        click.echo("  quick: the seals are trusted and no data file was read; without --quick every byte is")
    for problem in report.problems:
        click.echo(f"  {problem.file}: expected {problem.expected}; found {problem.found}")
