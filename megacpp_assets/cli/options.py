"""Options that several commands share."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from typing import Any

import click

from megacpp_assets.contract.errors import closest_name
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE


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


data_root_option: Callable[[Any], Any] = click.option(
    "--data-root",
    metavar="ROOT",
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


def user_name() -> str:
    """Return the user's name. A container may have none for the user's id."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def split_list(text: str) -> tuple[str, ...]:
    """Return the words of a comma-separated option, without empty ones."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
