"""Resolves what a person asks for (`fmt@11.0.0`, `folly@tip`) to a pin. A known reference keeps its commit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from megacpp_assets.contract.errors import SourceUnreachable, SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, RepoPin
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.repos.catalogue import Catalogue, CatalogueEntry, load_catalogue
from megacpp_assets.repos.pins import TIP, pin, verify_pin
from megacpp_assets.repos.sample import make_sample_repositories
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.storage.root.layout import raw_path


@dataclass(frozen=True, slots=True)
class References:
    """A data root, its catalogue, and the pins of one dataset."""

    root: Path
    catalogue: Catalogue
    lock: CorpusLock

    @staticmethod
    def of(root: Path, recipe: Recipe, lock: CorpusLock) -> References:
        """Return the references for the recipe's catalogue. The embedded repositories are written when they are
        asked for.
        """
        if recipe.catalogue == "sample":
            make_sample_repositories(root)
        return References(root, load_catalogue(recipe.catalogue, root), lock)

    def pinned(self, text: str) -> RepoPin:
        """Return the pin that mixtures read for `text` (`NAME` or `NAME@REF`).

        `SpecError` if `text` names another reference of a pinned repository: a pin is moved by a command of its own.
        """
        name, ref = RepoRef.asked(text)
        entry = self.entry(text)
        read = next((known for known in self.lock.repos if known.name == name), None)
        if read is None:
            return self.resolve(text)
        if not ref or (ref == TIP and read.ref.startswith(f"{TIP}-")):
            return self._kept(read, entry)
        found = self.resolve(text)
        if found.partition != read.partition:
            key = found.partition.key
            raise SpecError(
                f"repository {name} of dataset {self.lock.dataset}",
                expected=f"the pinned {read.partition.key}",
                found=key,
                do=f"megacpp run --refs {key} makes it beside that one, megacpp lock promote {key} moves the pin; "
                f"both with --dataset {self.lock.dataset}",
            )
        return found

    def resolve(self, text: str) -> RepoPin:
        """Return the pin of `text`. A known reference keeps its commit; "tip" is resolved at the source."""
        name, ref = RepoRef.asked(text)
        entry = self.entry(text)
        wanted = ref or entry.ref
        known = next((known for known in self.lock.known if (known.name, known.ref) == (name, wanted)), None)
        return pin(entry, wanted, self.root) if known is None else self._kept(known, entry)

    def entry(self, text: str) -> CatalogueEntry:
        """Return the catalogue's entry for the repository of `text`. `SpecError` if it is unknown or was removed."""
        if "://" in text:
            # The name is not echoed: it may be part of a URL that --repos split at a comma, with a password in it.
            raise SpecError("--repos", expected="names of the catalogue", found="a URL", do="megacpp repos add")
        name, at, ref = text.partition("@")
        if at and not ref:
            raise SpecError(
                f"repository {text!r}",
                expected="NAME or NAME@REF",
                found="nothing after the @",
                do="write for example fmt@11.0.0",
            )
        self.lock.require_not_removed(name)
        entry = self.catalogue.get(name)
        if isinstance(entry, SpecError):
            raise entry
        if entry is None:
            raise SpecError.unknown("repository", name, sorted(self.catalogue), self.catalogue.advice)
        return entry

    def _kept(self, existing: RepoPin, entry: CatalogueEntry) -> RepoPin:
        """Return the known pin with the present licence and options of the catalogue.

        A moved tag is an error. A source that does not answer is an error only while its objects are still needed.
        """
        try:
            verify_pin(existing, self.root)
        except SourceUnreachable:
            if find_artifact(self.root, raw_path(existing.partition)) is None:
                raise
        return replace(
            existing,
            submodules=entry.submodules,
            submodule_owners=entry.submodule_owners,
            category=entry.category,
        )
