"""Checks a recipe against the catalogue that it names: all wrong keys and all unknown repositories are one
error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.curation import HASHED_FILES, CurationRecipe, hashed_file
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.launch.registry import launcher_for
from megacpp_assets.pipeline.pins.references import References
from megacpp_assets.repos.catalogue import CatalogueEntry, load_catalogue
from megacpp_assets.repos.pins import lacks_tag

_NAMED = 3
"""The most repositories that the error of a missing tag names."""


def checked_recipe(name: str, settings: Sequence[str], root: Path) -> tuple[Recipe, tuple[CatalogueEntry, ...]]:
    """Return a recipe like `load_recipe`, and the entry of each of its repositories.

    `SpecError` also names each repository that the catalogue lacks or has a malformed entry of, a setting that the
    launcher rejects, and each repository on this machine without the tag of `history.since`.
    """
    recipe = load_recipe(name, settings, lambda recipe: _faults(recipe, root))
    references = _references(recipe, root)
    return recipe, tuple(map(references.entry, recipe.repos))


def _faults(recipe: Recipe, root: Path) -> Iterator[SpecError]:
    """Yield what is wrong with the launcher, with each listed file, and with each repository in the catalogue."""
    yield from _fault(lambda: launcher_for(recipe.launch, recipe.training))
    yield from _file_faults(recipe.curation)
    try:
        references = _references(recipe, root)
    except SpecError as error:
        yield error
        return
    for text in recipe.repos:
        yield from _fault(partial(references.entry, text))
    yield from _fault(partial(_require_tag, recipe.history.since_tag, recipe, references))


def _require_tag(tag: str, recipe: Recipe, references: References) -> None:
    """Raise `SpecError` that names the repositories on this machine without `tag`. "" is no tag. Nothing is fetched."""
    entries = (references.catalogue.get(RepoRef.asked(text)[0]) for text in recipe.repos if tag)
    known = [entry for entry in entries if isinstance(entry, CatalogueEntry)]
    lacking = [entry for entry in known if lacks_tag(entry.url, tag, references.root)]
    if lacking:
        first = ", ".join(f"{entry.name} at {entry.url}" for entry in lacking[:_NAMED])
        others = f" and {len(lacking) - _NAMED} other repositories" if len(lacking) > _NAMED else ""
        raise SpecError(
            f"history.since {tag!r}",
            expected="a tag that every repository of the recipe has, or a date",
            found=f"no such tag of {first}{others}",
            do="correct history.since of the recipe; a date such as 2024-01-31 fits every repository",
        )


def _file_faults(recipe: CurationRecipe) -> Iterator[SpecError]:
    """Yield an error for each file of the lists with hashes that is missing or has another hash."""
    for key in HASHED_FILES:
        for line in getattr(recipe, key):
            digest, path = hashed_file(line, key)
            try:
                found = f"sha256 {sha256_file(Path(path))}"
            except OSError as error:
                found = error.strerror or str(error)
            if found != f"sha256 {digest}":
                do = f"correct the path in curation.{key}, or write what sha256sum prints"
                yield SpecError(f"curation.{key} {path}", expected=f"sha256 {digest}", found=found, do=do)


def _fault(call: Callable[[], object]) -> Iterator[SpecError]:
    try:
        call()
    except SpecError as error:
        yield error


def _references(recipe: Recipe, root: Path) -> References:
    """Return the references of the recipe's catalogue without pins. Nothing is written."""
    return References(root, load_catalogue(recipe.catalogue, root), CorpusLock(recipe.dataset, ""))
