"""Shared by commands that run steps: exclusive use of the data root, progress bars, the closing table, audits."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from megacpp_assets.cli.options import root_words
from megacpp_assets.cli.screen.bars import Bars, wide_console
from megacpp_assets.cli.screen.table import history_by_rule, stage_table, units_reached, warnings_of
from megacpp_assets.cli.screen.words import counted
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.pipeline.alone import only_run
from megacpp_assets.pipeline.stages import CHECKPOINT
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.repos.sample import EMBEDDED
from megacpp_assets.storage.caching.seen import forget
from megacpp_assets.storage.remote import shown_root
from megacpp_assets.storage.root.layout import data_root as resolve_root
from megacpp_assets.storage.root.layout import make_root


@contextmanager
def at_work(value: str | None, *, verify: bool = False) -> Iterator[Path]:
    """Hold the data root for the block. It is created if it is missing. `SpecError` if another command works on it."""
    root = resolve_root(value)
    make_root(root)
    with only_run(root):
        if verify:
            forget(root)
        yield root


def bring_up_to_date(corpus: Corpus, steps: Sequence[Step]) -> None:
    """Run the outdated ones of `steps`, record them in Dagster, show progress, and audit the checkpoints among them.

    Exits with code 1 if an audit finds a fault. Raises what `run_steps` raises.
    """
    from megacpp_assets.defs.commands.command_run import command_run
    from megacpp_assets.pipeline.run import machine_budget, run_steps

    console, root = wide_console(), root_words(corpus.root)
    sizes = Counter(step.stage.name for step in steps)
    with command_run(corpus.root, corpus, steps) as records:
        with Bars(sizes, console) as bars:
            run_steps(corpus, steps, records.forwarding_to(bars), records, machine_budget())
    if not bars.made:
        if records.recorded:
            recorded = counted(records.recorded, "step")
            console.print(f"Recorded in Dagster's event log, which lacked them: {recorded}")
        complete, verb = counted(len(bars.finished), "step"), "is" if len(bars.finished) == 1 else "are"
        console.print(f"Nothing to do: {complete} of {corpus.dataset} {verb} complete in {shown_root(corpus.root)}")
        return
    console.print(stage_table(bars.finished, bars.made))
    reached, by_rule = units_reached(bars.finished, bars.made), history_by_rule(bars.finished, bars.made)
    for line in (*reached, *by_rule, *warnings_of(bars.finished)):
        console.print(line, markup=False, highlight=False)
    if paths := [step.target().path for step in steps if step.stage.name == CHECKPOINT]:
        _audit(corpus, paths, root, console)


def _audit(corpus: Corpus, paths: Sequence[str], root: str, console: Console) -> None:
    from megacpp_assets.cli.screen.audit_report import open_auditor, print_report

    with open_auditor(corpus.root) as auditor:
        reports = [auditor.audit(path) for path in paths]
    for report in reports:
        print_report(report)
    console.print(
        "\n  ".join(["\nTry next:", *_next_commands(corpus, paths[0], root)]), soft_wrap=True, highlight=False
    )
    if not all(report.verified for report in reports):
        raise click.exceptions.Exit(1)


def _next_commands(corpus: Corpus, checkpoint: str, root: str) -> list[str]:
    """Return commands to try next. Other repositories are proposed to users who only ran the embedded ones."""
    audit = f"megacpp audit {shlex.quote(f'{shown_root(corpus.root)}/{checkpoint}')} --json"
    commands = [audit, f"megacpp ui{root}", f"megacpp quality{root}"]
    if all(repo.name.startswith(EMBEDDED) for repo in corpus.repo_refs):
        upstream = "--repos fmt@11.0.0,googletest@v1.15.0 --specialists base,small_cpp --phases 4k"
        return [*commands, f"megacpp run {upstream}{root}"]
    return [*commands, f"megacpp tokenizer show{root}"]
