"""`megacpp recipe`: show a recipe with every key, check one, compare two."""

from __future__ import annotations

import click

from megacpp_assets.cli.options import data_root_option, recipe_settings_option
from megacpp_assets.contract.recipe_text import differences, load_recipe, recipe_sha256, recipe_toml
from megacpp_assets.storage.layout import data_root as resolve_root


@click.group("recipe")
def recipe_group() -> None:
    """Show, check and compare recipes: shipped ones by name, your own by path."""


@recipe_group.command("show")
@click.argument("recipe", required=False)
@recipe_settings_option
@data_root_option
def show_command(recipe: str | None, settings: tuple[str, ...], data_root: str | None) -> None:
    """Print every key of RECIPE with its value, as TOML to start your own from. Default: the active dataset's."""
    if recipe is not None:
        click.echo(recipe_toml(load_recipe(recipe, settings)), nl=False)
        return
    from megacpp_assets.pipeline.corpus import open_corpus

    click.echo(recipe_toml(open_corpus(resolve_root(data_root)).recipe), nl=False)


@recipe_group.command("check")
@click.argument("recipe")
@recipe_settings_option
def check_command(recipe: str, settings: tuple[str, ...]) -> None:
    """Say whether a run could follow RECIPE; exit code 1 with the first key that is wrong."""
    checked = load_recipe(recipe, settings)
    click.echo(f"dataset {checked.dataset}, {len(checked.repos)} repositories, phases {', '.join(checked.curriculum)}")
    click.echo(f"sha256  {recipe_sha256(checked)}")


@recipe_group.command("diff")
@click.argument("one")
@click.argument("other")
def diff_command(one: str, other: str) -> None:
    """Print each key in which the recipes ONE and OTHER differ, with both values; exit code 1 if there is any."""
    found = list(differences(load_recipe(one), load_recipe(other)))
    for key, first, second in found:
        click.echo(f"{key}: {first!r} -> {second!r}")
    if found:
        raise click.exceptions.Exit(1)
