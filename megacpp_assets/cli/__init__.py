"""`megacpp`: the command line. Each command reads its arguments, calls one function of the package and prints."""

from __future__ import annotations

import io
import signal
import sys
from importlib import import_module
from typing import Final

import click

from megacpp_assets.compute.gc_disabled import search_for_cycles_rarely
from megacpp_assets.contract.errors import MegacppError, closest_name, disk_failure
from megacpp_assets.contract.extras import missing_extra
from megacpp_assets.contract.sources.urls import without_secrets

_SIGNALLED = 128
"""What a shell adds to a signal's number to say it as an exit code."""


_COMMANDS: Final = {
    "run": "run:run_command",
    "launch": "launch:launch_group",
    "backfill": "repositories.backfill:backfill_command",
    "remove": "repositories.remove:remove_command",
    "audit": "audit:audit_command",
    "export": "export:export_command",
    "verify": "files.verify:verify_command",
    "copy": "bucket:copy_command",
    "gc": "bucket:gc_command",
    "cache": "files.cache:cache_command",
    "merge": "files.merge:merge_command",
    "doctor": "machine:doctor_command",
    "recipe": "recipe:recipe_group",
    "lock": "lock:lock_group",
    "catalogue": "repositories.catalogue:catalogue_group",
    "repos": "repositories.repos:repos_group",
    "copies": "repositories.copies:copies_command",
    "curated": "repositories.curated:curated_command",
    "estimate": "repositories.estimate:estimate_command",
    "tokenizer": "tokenizer:tokenizer_group",
    "view": "view:view_command",
    "quality": "quality:quality_command",
    "bench": "machine:bench_command",
    "ui": "machine:ui_command",
    "service": "service:service_group",
}
"""Name -> module of this package and the command in it, in the order of the help."""


class _Commands(click.Group):
    """Imports a command when it is used: an audit does not load what runs stages."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = next((word for word in words if word in _COMMANDS), "")
            command = self.get_command(ctx, name)
            if command is None or not any(error.option_name in option.opts for option in command.params):
                raise
            behind = f"Write it behind the command: megacpp {name} {error.option_name} ..."
            raise click.UsageError(
                f"No such option {error.option_name!r} in front of {name!r}. {behind}", ctx
            ) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if close := closest_name(args[0], _COMMANDS):
                raise click.UsageError(f"No such command {args[0]!r}. Did you mean {close!r}?", ctx) from error
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"megacpp_assets.cli.{module}"), attribute)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Turn pinned C++ repositories into audited training corpora and checkpoints."""


def main() -> None:
    """Entry point: an expected failure is one message and exit code 1, never a traceback."""
    search_for_cycles_rarely()
    # A request to end is taken like Ctrl-C: what runs unwinds, and a training saves the step that it reached.
    signal.signal(signal.SIGTERM, lambda number, _frame: _leave(number))
    try:
        # Without its standalone mode click returns the code of `Exit` instead of leaving with it.
        sys.exit(cli(standalone_mode=False))
    except MegacppError as error:
        click.secho(f"error: {error.lines()}", fg="red", err=True)
        sys.exit(1)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        click.secho(f"error: {missing.lines()}", fg="red", err=True)
        sys.exit(1)
    except OSError as error:
        click.secho(f"error: {disk_failure(error).lines()}", fg="red", err=True)
        sys.exit(1)
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        click.echo(without_secrets(words.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as interrupted:
        click.secho("interrupted; run the same command again to continue", err=True)
        # click raises its own Abort from ours.
        reason = (interrupted.__cause__ or interrupted).args
        sys.exit(_SIGNALLED + (reason[0] if reason else signal.SIGINT))


def _leave(number: int) -> None:
    raise KeyboardInterrupt(number)
