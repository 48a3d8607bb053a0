"""From what a person asks for (`fmt@11.0.0`, `folly@tip`) to the pins of `corpus.lock`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.corpus_lock import CorpusLock, LockFile, RepoPin, TokenizerPin
from megacpp_assets.contract.errors import SourceUnreachable, SpecError, TokenizerDrift
from megacpp_assets.contract.recipe import Recipe
from megacpp_assets.repos.catalogue import CatalogueEntry, load_catalogue
from megacpp_assets.repos.pins import TIP, pin, verify_pin
from megacpp_assets.repos.sample import make_sample_repositories
from megacpp_assets.storage.artifact import find_artifact, open_artifact
from megacpp_assets.storage.layout import raw_path, tokenizer_path
from megacpp_assets.storage.lock_file import read_lock, update_lock
from megacpp_assets.storage.recipes import keep_recipe
from megacpp_assets.tokenizer.stage import pin_of

_NAMED_REPOSITORIES = 3
"""More than these are told by a hash in the name of their dataset."""


def pin_corpus(root: Path, recipe: Recipe, wanted: Sequence[str], *, activate: bool = True) -> Corpus:
    """`resolve_corpus`, and its pins written into `corpus.lock`; with `activate` it becomes the active dataset."""
    return write_pins(resolve_corpus(root, recipe, wanted), activate=activate)


def for_repositories(recipe: Recipe, wanted: Sequence[str]) -> Recipe:
    """The recipe for the repositories `wanted`: a dataset of its own unless they are those that the recipe names, so
    that nothing is taken away from the whole corpus.
    """
    names = sorted({text.partition("@")[0] for text in wanted})
    if not names or names == sorted(text.partition("@")[0] for text in recipe.repos):
        return recipe
    plain = [re.sub(r"[^A-Za-z0-9_]", "_", name) for name in names]
    if len(plain) > _NAMED_REPOSITORIES:
        plain = [f"{len(plain)}_repositories", sha256_bytes(" ".join(names).encode())[:12]]
    return replace(recipe, dataset="__".join([recipe.dataset, *plain]), repos=tuple(wanted))


def locked_references(root: Path, recipe: Recipe) -> tuple[str, ...]:
    """The recipe's repositories, those that its dataset pins already at the reference that the lock says."""
    lock = read_lock(root).datasets.get(recipe.dataset, CorpusLock(recipe.dataset, ""))
    pinned = {pin.name: pin.partition.key for pin in lock.repos}
    return tuple(pinned.get(text.partition("@")[0], text) for text in recipe.repos)


def overruled(recipe: Recipe, references: Sequence[str]) -> list[tuple[str, str]]:
    """(what the recipe asks for, what the lock says instead), for each repository that stays where it is pinned."""
    return [
        (asked, locked)
        for asked, locked in zip(recipe.repos, references, strict=True)
        if "@" in asked and asked != locked and not (asked.endswith(f"@{TIP}") and locked.startswith(f"{asked}-"))
    ]


def move_pin(corpus: Corpus, text: str) -> Corpus:
    """The corpus with the repository of `text` (`NAME@REF`) pinned there, in `corpus.lock` too.

    The next run makes what follows from it; the earlier pin stays in the lock's history.
    """
    corpus.lock.pin(text.partition("@")[0])
    catalogue = load_catalogue(corpus.recipe.catalogue, corpus.root)
    moved = _pin(corpus.root, catalogue, {}, text)
    pins = tuple(moved if pin.name == moved.name else pin for pin in corpus.lock.repos)
    return write_pins(replace(corpus, lock=replace(corpus.lock, repos=pins)), activate=False)


def write_pins(corpus: Corpus, *, activate: bool) -> Corpus:
    """Write the corpus's recipe and pins into the data root."""
    lock = replace(corpus.lock, recipe=keep_recipe(corpus.root, corpus.recipe))

    def change(file: LockFile) -> LockFile:
        changed = file.with_corpus(lock)
        return changed.activated(lock.dataset) if activate else changed

    update_lock(corpus.root, change)
    return replace(corpus, lock=lock)


def resolve_corpus(root: Path, recipe: Recipe, wanted: Sequence[str]) -> Corpus:
    """The corpus of `recipe` with exactly the repositories `wanted` (`NAME` or `NAME@REF`); `corpus.lock` is only read.

    A repository already pinned at the wanted reference keeps its commit. Raises `SourcePinMismatch` if its tag moved,
    `SourceUnreachable` if a new reference cannot be resolved, `SpecError` for an unknown repository or reference.
    """
    if recipe.catalogue == "sample":
        make_sample_repositories(root)
    catalogue = load_catalogue(recipe.catalogue, root)
    before = read_lock(root).datasets.get(recipe.dataset, CorpusLock(recipe.dataset, ""))
    known = {existing.name: existing for existing in before.repos}
    pins = tuple(_pin(root, catalogue, known, text) for text in wanted)
    names = [made.name for made in pins]
    if len(set(names)) != len(names):
        raise SpecError("--repos", expected="each repository once", found=", ".join(names))
    ordered = tuple(sorted(pins, key=lambda made: made.name))
    return Corpus(root, replace(before, repos=ordered), recipe)


def pin_published(corpus: Corpus, *, replace_pinned: bool = False) -> Corpus:
    """The corpus with its published tokenizer pinned in `corpus.lock`.

    `TokenizerDrift` if the lock pins another, unless that is to be replaced.
    """
    artifact = open_artifact(corpus.root, tokenizer_path(corpus.dataset))
    seen = tuple(reference.path.rpartition("/")[2] for reference in artifact.manifest.inputs)
    made = replace(pin_of(artifact), repos=seen)
    return with_tokenizer(corpus, made) if replace_pinned else pin_tokenizer(corpus, made)


def pin_tokenizer(corpus: Corpus, made: TokenizerPin) -> Corpus:
    """The corpus with `made` as its tokenizer; `TokenizerDrift` if the lock already pins another."""
    pinned = corpus.lock.tokenizer
    if pinned is not None and (pinned.commit, pinned.sha256) != (made.commit, made.sha256):
        raise TokenizerDrift(
            f"tokenizer of {corpus.dataset}",
            expected=f"the pinned commit {pinned.commit} (sha256 {pinned.sha256})",
            found=f"commit {made.commit} (sha256 {made.sha256})",
            do="megacpp run restores the pinned one from its registry; megacpp tokenizer pin takes the new one",
        )
    return with_tokenizer(corpus, made)


def with_tokenizer(corpus: Corpus, pin: TokenizerPin) -> Corpus:
    """The corpus with `pin` as its tokenizer in `corpus.lock`, whatever was pinned before."""
    lock = replace(corpus.lock, tokenizer=pin)
    update_lock(corpus.root, lambda file: file.with_corpus(lock))
    return replace(corpus, lock=lock)


def _pin(root: Path, catalogue: Mapping[str, CatalogueEntry], known: Mapping[str, RepoPin], text: str) -> RepoPin:
    name, _, ref = text.partition("@")
    entry = catalogue.get(name)
    if "://" in text:
        # Not echoed: a part of a URL that the commas of --repos cut up may be a password.
        raise SpecError("--repos", expected="names of the catalogue", found="a URL", do="megacpp repos add")
    if entry is None:
        listed = ", ".join(sorted(catalogue))
        raise SpecError(f"repository {name!r}", expected=f"one of {listed}", found=repr(name), do="megacpp repos add")
    ref = ref or entry.ref
    existing = known.get(name)
    if existing is not None and (existing.ref == ref or (ref == TIP and existing.ref.startswith(f"{TIP}-"))):
        _verify(existing, root)
        return replace(existing, submodules=entry.submodules, submodule_owners=entry.submodule_owners)
    return pin(entry, ref, root)


def _verify(existing: RepoPin, root: Path) -> None:
    """A moved tag is an error; a source that does not answer is one only where its objects are still needed."""
    try:
        verify_pin(existing, root)
    except SourceUnreachable:
        if find_artifact(root, raw_path(existing.partition)) is None:
            raise
