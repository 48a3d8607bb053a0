"""`megacpp repos`: adds any git repository as a partition. `megacpp catalogue` lists the known ones."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from megacpp_assets.cli.options import NameChoice, data_root_option, root_words
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.repos.catalogue import CatalogueEntry, add_entry, known_entry
from megacpp_assets.repos.licensing.spdx import spdx_expression
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.sources import given_url, source_url
from megacpp_assets.repos.submodules import require_owner
from megacpp_assets.storage.remote import is_cache, shown_root
from megacpp_assets.storage.root.layout import data_root as resolve_root
from megacpp_assets.storage.root.layout import make_root


@click.group("repos")
def repos_group() -> None:
    """Add a repository to the catalogue of a data root."""


@repos_group.command("add")
@click.argument("url_or_path")
@click.option("--ref", help="A tag, a branch, tip, or a full commit id. Required.")
@click.option("--name", default="", help="Catalogue name. Default: the last part of the URL.")
@click.option(
    "--license",
    "license_id",
    help="SPDX expression. Default: the expression of a known name, else that of the licence file.",
)
@click.option(
    "--specialist",
    help="The specialist that the repository defines. Default: the specialist of a known name, else none.",
)
@click.option(
    "--category",
    type=NameChoice(REPOSITORY_CATEGORIES),
    help="Category of the repository, for recipes that weight categories. Default: the category of a known name, else "
    "none.",
)
@click.option("--submodules/--no-submodules", default=None, help="Fetch the submodules of the same HOST/OWNER too.")
@click.option(
    "--submodule-owner", "owners", multiple=True, metavar="HOST/OWNER", help="Fetch submodules of this owner too."
)
@data_root_option
def add_command(
    *,
    url_or_path: str,
    ref: str | None,
    name: str,
    license_id: str | None,
    specialist: str | None,
    category: str | None,
    submodules: bool | None,
    owners: tuple[str, ...],
    data_root: str | None,
) -> None:
    """Add URL-OR-PATH at REF to this data root. If its name is known, absent options keep their values."""
    url, root = given_url(url_or_path), resolve_root(data_root)
    if ref is None:
        raise click.UsageError(_missing_ref(url))
    _require_folder(root)
    source_url(url, root)
    if license_id is not None:
        spdx_expression(license_id, "--license")
    entry_name = _name(url, name)
    for owner in owners:
        require_owner(owner, "--submodule-owner")
    known = known_entry(entry_name, root)
    given: dict[str, Any] = {"license": license_id, "specialist": specialist, "category": category}
    given["submodule_owners"] = owners or None
    given["submodules"] = True if owners and submodules is None else submodules
    asked = {key: value for key, value in given.items() if value is not None}
    entry = replace(known or CatalogueEntry(entry_name, url, "tip"), url=url, ref="tip", **asked)
    make_root(root)
    made = pin(entry, ref, root)
    add_entry(replace(entry, ref=made.ref if made.ref == ref else "tip"), root)
    if known is not None:
        click.echo(_known(known, entry))
    click.echo(f"{made.partition.key} is commit {made.commit}")
    command = f"megacpp run --recipe upstream --repos {entry.name}@{ref} --until packed_rows{root_words(root)}"
    click.echo(f"next: {command}")
    click.echo("without --until packed_rows it trains a model too; for a small model and vocabulary write a recipe")


def _require_folder(root: Path) -> None:
    """Raise `SpecError` for a root in a bucket: the catalogue of its cache would be on this machine alone."""
    if is_cache(root):
        do = "put the entry into a file and name it as catalogue of a recipe"
        raise SpecError("data root of repos add", expected="a folder", found=shown_root(root), do=do)


def _known(before: CatalogueEntry, after: CatalogueEntry) -> str:
    """Return what happened to an entry that existed."""
    stays = f"{after.license}, specialist {after.specialist or 'none'}"
    moved = "" if before.url == after.url else f"; it came from {before.url}, now from {after.url}"
    return f"{after.name} was known already: {stays}{moved}"


def _name(url: str, given: str) -> str:
    """Return the name `given`, or the last part of `url` if it is "". `SpecError` if a partition cannot have it."""
    name = given or url.rstrip("/").rpartition("/")[2].removesuffix(".git")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
        expected = "letters, digits, '.', '_', '+' and '-', first a letter or digit"
        raise SpecError(f"name of repository {url}", expected=expected, found=repr(name), do="give one with --name")
    return name


def _missing_ref(url: str) -> str:
    """Return what to say of `url` without --ref. It may end with the reference."""
    before, at, behind = url.rpartition("@")
    is_joined = bool(before and at) and "/" not in behind and ":" not in behind
    return "Missing option '--ref'." + (f" Try: megacpp repos add {before} --ref {behind}" if is_joined else "")
