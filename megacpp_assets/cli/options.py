"""Options that several commands share."""

from __future__ import annotations

import getpass
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from megacpp_assets.contract.errors import closest_name
from megacpp_assets.storage.remote import SCHEME, shown_root
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE
from megacpp_assets.storage.root.layout import data_root as resolve_root


class NameChoice(click.Choice):  # type: ignore[type-arg] # in click 8.1 it is not generic
    """A choice whose error names the closest value."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return `value` if it is one of the choices; otherwise the usage error."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if close := closest_name(value, self.choices):
                raise click.BadParameter(f"{error.message} Did you mean {close!r}?", ctx, param) from error
            raise


def not_empty(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the value of an option. One that is "", as of a variable that is not set, does not mean the default."""
    if value is not None and not value.strip():
        raise click.BadParameter("it is empty: give a value, or leave the option out for the default", ctx, param)
    return value


data_root_option: Callable[[Any], Any] = click.option(
    "--data-root",
    metavar="ROOT",
    callback=not_empty,
    help=f"The data root: a folder, or gs://BUCKET/FOLDER. Default: ${DATA_ROOT_VARIABLE}, else ./data",
)
dataset_option: Callable[[Any], Any] = click.option(
    "--dataset", default="", metavar="NAME", help="A dataset of corpus.lock. Default: the active one."
)

recipe_settings_option: Callable[[Any], Any] = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A key of the recipe, such as training.steps=2000; may be given several times.",
)


def root_words(root: Path) -> str:
    """Return ` --data-root ROOT` for a proposed command, or "" if a command finds `root` without it.

    Call it before the Dagster instance of `root` is opened: this sets the variable for the process, not for the user.
    """
    shown = shown_root(root)
    default = os.environ.get(DATA_ROOT_VARIABLE) or "data"
    is_default = default == shown if default.startswith(SCHEME) else resolve_root(None) == root
    return "" if is_default else f" --data-root {shlex.quote(shown)}"


def user_name() -> str:
    """Return the user's name. A container may have none for the user's id."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def split_list(text: str) -> tuple[str, ...]:
    """Return the words of a comma-separated option, without empty ones."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
