"""`megacpp doctor`, `megacpp bench`, `megacpp ui`: this machine, its speed, and Dagster's UI on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

import megacpp_assets
from megacpp_assets.cli.options import data_root_option
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.storage.root.layout import data_root as resolve_root

_WITH_OPTIONS_ONLY = ("wild", "worth")


@click.command("doctor")
@data_root_option
def doctor_command(data_root: str | None) -> None:
    """Check the requirements of this machine. Exit code 1 if one is missing; the output says what to install."""
    from megacpp_assets.pipeline.doctor import examine

    findings = examine(resolve_root(data_root))
    for finding in findings:
        mark = "ok" if finding.good else ("MISSING" if finding.needed else "optional")
        click.echo(f"{mark:<9}{finding.name:<10} {finding.found}")
        if not finding.good:
            click.echo(f"{'':<20}what to do: {finding.advice}")
    if any(finding.needed and not finding.good for finding in findings):
        raise click.exceptions.Exit(1)


@click.command("bench", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("names", nargs=-1, metavar="[NAME]... | NAME OPTIONS...", type=click.UNPROCESSED)
@click.pass_context
def bench_command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Run benchmarks and print their figures as JSON lines.

    A line has bench, figure, unit, ours, peer, peer_name, ratio and runs. By default all benchmarks run except `wild`
    and `worth`, which need options. megacpp bench wild --mirror TEMPLATE --list FILE runs all stages on each repository
    of a list. megacpp bench worth --arms FILE trains each arm of a file. What follows a single NAME belongs to that
    benchmark; megacpp bench NAME --help lists its options.
    """
    # Click would take --help behind a name for its own.
    if names[:1] in (("-h",), ("--help",)):
        click.echo(ctx.get_help())
        return
    folder = Path(megacpp_assets.__file__).parents[1] / "benchmarks"
    if not folder.is_dir():
        raise EnvironmentLacks("benchmarks", expected=f"the folder {folder}", found="none", do="run from a checkout")
    # An underscore at the end keeps a file from being taken for the package of that name.
    known = {path.stem.rstrip("_"): path for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")}
    if names and names[0] not in known and not names[0].startswith("-"):
        raise SpecError.unknown("benchmark", names[0], known)
    count = next((place for place, word in enumerate(names) if word not in known), len(names))
    chosen, options = names[:count], names[count:]
    if options and len(chosen) != 1:
        raise SpecError(
            "megacpp bench",
            expected=f"one benchmark before {options[0]}",
            found=" ".join(chosen) or "none",
            do="run benchmarks with options one at a time, and check the names",
        )
    for name in chosen or [name for name in known if name not in _WITH_OPTIONS_ONLY]:
        code = subprocess.run([sys.executable, str(known[name]), *options], check=False).returncode
        if code:
            # The benchmark has printed the reason. A signal's number comes back negative; a shell adds 128 to it.
            raise click.exceptions.Exit(code if code > 0 else 128 - code)


@click.command("ui")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=3000,
    show_default=True,
    help="Port of the UI; 0 takes any free port.",
)
@click.option("--automate", is_flag=True, help="Start the sensors and schedules that are not stopped in the UI.")
@click.option("--read-only", is_flag=True, help="Allow no change. A UI with full access may run at the same time.")
@data_root_option
def ui_command(port: int, automate: bool, read_only: bool, data_root: str | None) -> None:
    """Start Dagster's UI for the data root, on this machine only.

    Anyone with the link has full access. With --automate, new releases upstream are built, and each night missing or
    outdated partitions: first those of repositories, then mixtures.
    """
    from megacpp_assets.defs.automate.automation import AUTOMATE_VARIABLE
    from megacpp_assets.storage.root.lock_file import read_lock
    from megacpp_assets.ui.server import serve

    if automate and read_only:
        do = "leave one of them out"
        raise SpecError("megacpp ui", expected="--automate or --read-only", found="both", do=do)
    root = resolve_root(data_root)
    if automate:
        os.environ[AUTOMATE_VARIABLE] = "1"
    # A damaged lock ends it here: Dagster would open without assets, behind a traceback of its own process.
    if not read_lock(root).datasets:
        do = "megacpp run makes one; or correct --data-root"
        click.secho(f"warning: data root {root} has no dataset yet; what to do: {do}", fg="yellow", err=True)
    click.echo("starting; Ctrl-C stops it" + ("" if read_only else " and the runs that it started"))
    serve(root, port, lambda address: click.echo(f"open {address}"), read_only=read_only)
