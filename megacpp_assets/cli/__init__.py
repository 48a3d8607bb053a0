"""`megacpp`: the command line. Each command reads its arguments, calls one function of the package and prints."""

from __future__ import annotations

import io
import signal
import sys

import click

from megacpp_assets.cli.audit import audit_command
from megacpp_assets.cli.lock import lock_group
from megacpp_assets.cli.machine import bench_command, doctor_command, ui_command
from megacpp_assets.cli.recipe import recipe_group
from megacpp_assets.cli.repos import repos_group
from megacpp_assets.cli.run import run_command
from megacpp_assets.cli.tokenizer import tokenizer_group
from megacpp_assets.cli.verify import verify_command
from megacpp_assets.contract.disk import disk_failure
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.sources.urls import without_secrets

_SIGNALLED = 128
"""What a shell adds to a signal's number to say it as an exit code."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Pinned C++ repositories to audited training corpora and checkpoints."""


for command in (
    run_command, audit_command, verify_command, doctor_command, recipe_group, lock_group, repos_group, tokenizer_group,
    bench_command, ui_command,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """Entry point: an expected failure is one message and exit code 1, never a traceback."""
    # A request to end is taken like Ctrl-C: what runs unwinds, and a training saves the step that it reached.
    signal.signal(signal.SIGTERM, lambda number, _frame: _leave(number))
    try:
        # Without its standalone mode click returns the code of `Exit` instead of leaving with it.
        sys.exit(cli(standalone_mode=False))
    except MegacppError as error:
        click.secho(f"error: {error}", fg="red", err=True)
        sys.exit(1)
    except OSError as error:
        click.secho(f"error: {disk_failure(error)}", fg="red", err=True)
        sys.exit(1)
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        click.echo(without_secrets(words.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as interrupted:
        click.secho("interrupted; run the same command again to go on", err=True)
        # click raises its own Abort from ours.
        told = (interrupted.__cause__ or interrupted).args
        sys.exit(_SIGNALLED + (told[0] if told else signal.SIGINT))


def _leave(number: int) -> None:
    raise KeyboardInterrupt(number)
