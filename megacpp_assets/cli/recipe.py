"""`megacpp recipe`: show a recipe with every key, check one, compare two."""

from __future__ import annotations

from typing import Any, Final

import click

from megacpp_assets.cli.options import data_root_option, recipe_settings_option
from megacpp_assets.contract.names import BASE_SPECIALIST
from megacpp_assets.contract.recipe.commented import commented_toml
from megacpp_assets.contract.recipe.text import differences, load_recipe, recipe_sha256
from megacpp_assets.storage.root.layout import data_root as resolve_root

_LINE: Final = 118
"""The most characters of a difference in one line."""


@click.group("recipe")
def recipe_group() -> None:
    """Show, check and compare recipes.

    Name a shipped recipe, or give the path of your own.
    """


@recipe_group.command("show")
@click.argument("recipe", required=False)
@recipe_settings_option
@data_root_option
def show_command(recipe: str | None, settings: tuple[str, ...], data_root: str | None) -> None:
    """Print RECIPE as TOML, with notes on every key.

    The notes are meaning, unit, default and allowed values. Use the output as the start of your own recipe. Its first
    line has the number of parameters of the model. Default: the recipe of the active dataset.
    """
    from megacpp_assets.pipeline.corpus import open_corpus
    from megacpp_assets.training.network.size import parameter_count

    if recipe is None and settings:
        raise click.UsageError("--set needs RECIPE")
    shown = load_recipe(recipe, settings) if recipe is not None else open_corpus(resolve_root(data_root)).recipe
    click.echo(f"# a model of {parameter_count(shown):,} parameters")
    click.echo(commented_toml(shown), nl=False)


@recipe_group.command("check")
@click.argument("recipe")
@recipe_settings_option
@data_root_option
def check_command(recipe: str, settings: tuple[str, ...], data_root: str | None) -> None:
    """Check that a run can follow RECIPE. Its repositories must be found too. If a check fails, the error names what is
    wrong.

    Nothing is fetched. So a tag in history.since is compared only with repositories on this machine: those with a path
    as their URL, those in a local mirror (MEGACPP_GIT_MIRROR), and the embedded ones.
    """
    from megacpp_assets.pipeline.pins.checking import checked_recipe

    checked, entries = checked_recipe(recipe, settings, resolve_root(data_root))
    defined = {entry.specialist for entry in entries} - {""}
    click.echo(f"dataset      {checked.dataset}")
    click.echo(f"repositories {', '.join(checked.repos)}")
    click.echo(f"specialists  {', '.join([BASE_SPECIALIST, *sorted(defined | checked.specialists.keys())])}")
    click.echo(f"curriculum   {', '.join(checked.curriculum)}")
    click.echo(f"sha256       {recipe_sha256(checked)}")


@recipe_group.command("diff")
@click.argument("one")
@click.argument("other")
def diff_command(one: str, other: str) -> None:
    """Print each key in which two recipes differ, with its value in ONE and in OTHER.

    Values are written as in a recipe file; a key that a recipe lacks is "missing". Long values have lines of their own.
    Exit code 1 if any key differs.
    """
    found = list(differences(load_recipe(one), load_recipe(other)))
    for key, first, second in found:
        click.echo(_difference(key, (one, _value(first)), (other, _value(second))))
    if found:
        raise click.exceptions.Exit(1)
    click.echo("no key differs")


def _difference(key: str, *sides: tuple[str, str]) -> str:
    """Return `KEY: VALUE -> VALUE`; if that is too long, the key and a line for each named recipe."""
    line = f"{key}: {' -> '.join(value for _, value in sides)}"
    if len(line) <= _LINE:
        return line
    return "\n".join([key, *(f"  {name}: {value}" for name, value in sides)])


def _value(value: Any) -> str:
    """Return `value` as TOML; no value of a recipe is None."""
    import tomlkit

    if value is None:
        return "missing"
    return str(tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string())
