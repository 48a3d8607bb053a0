"""`megacpp catalogue`: known repositories, with what a person must know before using one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import click

from megacpp_assets.cli.options import NameChoice, data_root_option
from megacpp_assets.cli.repositories.estimate import estimate_command
from megacpp_assets.cli.screen.words import counted
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.repos.catalogue import ACCESS, ORIGINS, SHIPPED, SIZE_CLASSES, CatalogueEntry, load_catalogue
from megacpp_assets.storage.root.layout import data_root as resolve_root

catalogue_option = click.option(
    "--catalogue", default="extended", show_default=True, help=f"{', '.join(SHIPPED)}, or a TOML file of yours."
)
_LINE = "{:<18} {:<27} {:<4} {:<10} {:<9} {:<8} {:<40} {}"


@click.group("catalogue", context_settings={"default_map": {"estimate": {"catalogue": "extended"}}})
def catalogue_group() -> None:
    """List, show or estimate the repositories of a catalogue."""


catalogue_group.add_command(estimate_command)


@catalogue_group.command("list")
@catalogue_option
@click.option("--category", type=NameChoice(REPOSITORY_CATEGORIES), help="Only repositories of this category.")
@click.option("--size-class", type=NameChoice(SIZE_CLASSES), help="Only repositories of this size class.")
@click.option("--access", type=NameChoice(ACCESS), help="Only repositories with this access.")
@click.option("--origin", type=NameChoice(ORIGINS), help="Only repositories whose name has this origin.")
@data_root_option
def list_command(catalogue: str, data_root: str | None, **wanted: str | None) -> None:
    """Print the repositories of a catalogue by category. Exit code 1 if an entry is wrong."""
    filters = {key: value for key, value in wanted.items() if value is not None}
    known = load_catalogue(catalogue, resolve_root(data_root)).values()
    entries = [
        entry
        for entry in known
        if isinstance(entry, CatalogueEntry) and all(getattr(entry, key) == value for key, value in filters.items())
    ]
    entries.sort(key=_by_category)
    click.echo(_LINE.format("name", "category", "size", "origin", "vcs", "access", "licence", "url"))
    for entry in entries:
        words = (entry.name, entry.category or "-", entry.size_class, entry.origin, entry.vcs, entry.access)
        click.echo(_LINE.format(*words, entry.license, entry.url))
    click.echo(_summary(entries))
    faults = [entry for entry in known if isinstance(entry, SpecError)]
    for fault in faults:
        click.echo(f"error: {fault}", err=True)
    if faults:
        raise click.exceptions.Exit(1)


@catalogue_group.command("show")
@click.argument("name")
@catalogue_option
@data_root_option
def show_command(name: str, catalogue: str, data_root: str | None) -> None:
    """Print what the catalogue says about the repository NAME."""
    entries = load_catalogue(catalogue, resolve_root(data_root))
    if name not in entries:
        do = "megacpp catalogue list shows the names; megacpp repos add takes any other repository"
        raise SpecError.unknown(f"repository of catalogue {catalogue}", name, entries, do)
    entry = entries[name]
    if isinstance(entry, SpecError):
        raise entry
    for key, value in _facts(entry):
        click.echo(f"{key:<13} {value}")


def _by_category(entry: CatalogueEntry) -> int:
    """Return the position of the entry's category; entries without one come last."""
    return [*REPOSITORY_CATEGORIES, ""].index(entry.category)


def _summary(entries: Iterable[CatalogueEntry]) -> str:
    listed = list(entries)
    origins = Counter(entry.origin for entry in listed)
    closed = sum(entry.access != "open" for entry in listed)
    by_origin = ", ".join(f"{count} {origin}" for origin, count in sorted(origins.items()))
    categories = counted(len({entry.category for entry in listed}), "category")
    return f"{counted(len(listed), 'repository')} in {categories} ({by_origin}); {closed} are not fetched"


def _facts(entry: CatalogueEntry) -> list[tuple[str, str]]:
    facts = [
        ("name", entry.name),
        ("category", entry.category or "none"),
        ("specialist", entry.specialist or "none"),
        ("size class", entry.size_class),
        ("host", entry.host or "this machine"),
        ("vcs", entry.vcs),
        ("canonical URL", entry.home),
        ("fetched from", entry.url if entry.access == "open" else "nowhere"),
        ("mirror URL", entry.mirror_url or (entry.url if entry.url != entry.home else "none")),
        ("default ref", entry.ref),
        ("release tags", entry.tags),
        ("access", entry.access),
        ("licence", entry.license),
        ("submodules", ", ".join(entry.submodule_owners) or ("of its own owner" if entry.submodules else "none")),
        ("history", entry.history),
        ("origin", entry.origin),
    ]
    return [*facts, ("note", entry.note)] if entry.note else facts
