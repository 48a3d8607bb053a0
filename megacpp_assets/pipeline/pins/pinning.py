"""The pins of a corpus: which dataset a request is about, what its mixtures read, and every change of `corpus.lock`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SourceUnreachable, SpecError, TokenizerDrift
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, LockFile, RepoPin, TokenizerPin
from megacpp_assets.contract.lock.removal import Removal
from megacpp_assets.contract.names import CATEGORY_PREFIX
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.pipeline.pins.references import References
from megacpp_assets.repos.pins import TIP
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root.layout import tokenizer_path
from megacpp_assets.storage.root.lock_file import read_lock, update_lock
from megacpp_assets.storage.root.recipes import keep_recipe
from megacpp_assets.tokenizer.lock import pin_of

_NAMED_REPOSITORIES = 3
"""A dataset of more repositories gets a hash in its name instead of their names."""


def for_repositories(recipe: Recipe, wanted: Sequence[str]) -> Recipe:
    """Return the recipe for the repositories `wanted`.

    Unless they are exactly those of the recipe, it is a dataset of its own, so that the whole corpus loses nothing. It
    keeps the specialists whose repositories are all wanted, and the repositories of its stand-ins.
    """
    names = sorted({text.partition("@")[0] for text in wanted})
    if not names or names == sorted(text.partition("@")[0] for text in recipe.repos):
        return recipe
    plain = [re.sub(r"[^A-Za-z0-9_]", "_", name) for name in names]
    if len(plain) > _NAMED_REPOSITORIES:
        plain = [f"{len(plain)}_repositories", sha256_bytes(" ".join(names).encode())[:12]]
    whole = {
        name: weights
        for name, weights in recipe.specialists.items()
        if {key for key in weights if not key.startswith(CATEGORY_PREFIX)} <= set(names)
    }
    dataset = "__".join([recipe.dataset, *plain])
    left = {name: tuple(set(others) & set(names)) for name, others in recipe.stand_ins.items() if name in names}
    stand_ins = {name: tuple(sorted(others)) for name, others in left.items() if others}
    arguments = {name: stated for name, stated in recipe.cmake_arguments.items() if name in names}
    mine = replace(recipe, stand_ins=stand_ins, cmake_arguments=arguments)
    return replace(mine, dataset=dataset, repos=tuple(names), specialists=whole)


def locked_references(root: Path, recipe: Recipe) -> tuple[str, ...]:
    """Return the recipe's repositories, each at the reference that the lock has for it. Removed repositories are
    left out.
    """
    lock = read_lock(root).datasets.get(recipe.dataset, CorpusLock(recipe.dataset, ""))
    pinned = {pin.name: pin.partition.key for pin in lock.repos}
    names = {text: text.partition("@")[0] for text in recipe.repos}
    return tuple(pinned.get(name, text) for text, name in names.items() if name not in lock.removed_repositories)


def overruled(recipe: Recipe, references: Sequence[str]) -> list[tuple[str, str]]:
    """Return (what the recipe asks for, what the lock has) for each repository whose pin in the lock wins."""
    asked_for = {text.partition("@")[0]: text for text in recipe.repos}
    return [
        (asked, locked)
        for locked in references
        for asked in [asked_for[locked.partition("@")[0]]]
        if "@" in asked
        and RepoRef.asked(asked) != RepoRef.asked(locked)
        and not (asked.endswith(f"@{TIP}") and locked.startswith(f"{asked}-"))
    ]


def move_pin(corpus: Corpus, text: str, note: Mapping[str, Any] | None = None) -> Corpus:
    """Pin the repository of `text` (`NAME@REF`) to that reference for the mixtures, also in `corpus.lock`, and return
    the corpus.

    The next run makes what depends on it. The earlier reference stays known. The lock's history records the move with
    the `note`.
    """
    corpus.lock.pin(text.partition("@")[0])
    moved = References.of(corpus.root, corpus.recipe, corpus.lock).resolve(text)
    return _update(
        corpus, lambda lock: lock.reading(moved if pin.name == moved.name else pin for pin in lock.repos), note=note
    )


def remove_from_lock(corpus: Corpus, removal: Removal, note: Mapping[str, Any]) -> Corpus:
    """Remove what `removal` names from the corpus and from `corpus.lock`. The lock's history records the `note`."""
    return _update(corpus, lambda lock: lock.removing(removal), note=note)


def require_at_source(corpus: Corpus, texts: Sequence[str]) -> None:
    """Raise `SpecError` for the first of `texts` (`NAME@REF`) that its source lacks.

    A source that does not answer says nothing about its references: then the step that needs them fails.
    """
    references = References.of(corpus.root, corpus.recipe, corpus.lock)
    for text in texts:
        with suppress(SourceUnreachable):
            references.resolve(text)


def add_references(corpus: Corpus, texts: Sequence[str]) -> tuple[Corpus, tuple[RepoRef, ...]]:
    """Add each of `texts` (`NAME@REF`) with its commit to the corpus and to `corpus.lock`; return their partitions
    too.

    Mixtures keep reading what they read. `SpecError` for a repository that the dataset lacks, or a reference that its
    source lacks.
    """
    for text in texts:
        name, at, _ = text.partition("@")
        if not at:
            raise SpecError(f"reference {text!r}", expected="NAME@REF", found="no @", do="write for example fmt@11.0.0")
        corpus.lock.pin(name)
    references = References.of(corpus.root, corpus.recipe, corpus.lock)
    pins = [references.resolve(text) for text in texts]
    return add_pins(corpus, pins), tuple(pin.partition for pin in pins)


def with_pins(corpus: Corpus, pins: Sequence[RepoPin]) -> Corpus:
    """Return the corpus with `pins` added. `corpus.lock` does not change."""
    return replace(corpus, lock=corpus.lock.with_pins(pins))


def add_pins(corpus: Corpus, pins: Sequence[RepoPin]) -> Corpus:
    """Add `pins` to the corpus and to `corpus.lock`. A reference that is known already keeps its commit."""
    return _update(corpus, lambda lock: lock.with_pins(pins))


def write_pins(corpus: Corpus, *, activate: bool) -> Corpus:
    """Write the corpus's recipe and the pins that its mixtures read to the data root."""
    recipe = keep_recipe(corpus.root, corpus.recipe)
    return _update(corpus, lambda lock: replace(lock, recipe=recipe).reading(corpus.lock.repos), activate=activate)


def _update(
    corpus: Corpus,
    change: Callable[[CorpusLock], CorpusLock],
    *,
    activate: bool = False,
    note: Mapping[str, Any] | None = None,
) -> Corpus:
    """Apply `change` to the pins, which are read under the lock: another run may have added some."""

    def changed(file: LockFile) -> LockFile:
        now = file.datasets.get(corpus.dataset, CorpusLock(corpus.dataset, ""))
        after = file.with_corpus(change(now))
        return after.activated(corpus.dataset) if activate else after

    return replace(corpus, lock=update_lock(corpus.root, changed, note).datasets[corpus.dataset])


def resolve_corpus(root: Path, recipe: Recipe, wanted: Sequence[str]) -> Corpus:
    """Return the corpus of `recipe` with exactly the repositories `wanted` (`NAME` or `NAME@REF`). `corpus.lock` is
    only read.

    A pinned repository keeps its pin. Raises `SpecError` for another reference of it and for an unknown repository or
    reference, `SourcePinMismatch` if its tag moved, `SourceUnreachable` if a new reference cannot be resolved.
    """
    before = read_lock(root).datasets.get(recipe.dataset, CorpusLock(recipe.dataset, ""))
    references = References.of(root, recipe, before)
    pins = tuple(references.pinned(text) for text in wanted)
    names = [made.name for made in pins]
    if len(set(names)) != len(names):
        raise SpecError("--repos", expected="each repository once", found=", ".join(names), do="leave one of them out")
    return Corpus(root, before.reading(pins), recipe)


def pin_published(corpus: Corpus, *, replace_pinned: bool = False) -> Corpus:
    """Pin the published tokenizer of the corpus in `corpus.lock`.

    `TokenizerDrift` if the lock pins another one, unless `replace_pinned`.
    """
    artifact = open_artifact(corpus.root, tokenizer_path(corpus.dataset))
    seen = tuple(reference.path.rpartition("/")[2] for reference in artifact.manifest.inputs)
    made = replace(pin_of(artifact), repos=seen)
    return with_tokenizer(corpus, made) if replace_pinned else pin_tokenizer(corpus, made)


def pin_tokenizer(corpus: Corpus, made: TokenizerPin) -> Corpus:
    """Return the corpus with `made` as its tokenizer. `TokenizerDrift` if the lock already pins another one."""
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
    """Pin `pin` as the tokenizer in `corpus.lock`, whatever was pinned before."""
    return _update(corpus, lambda lock: replace(lock, tokenizer=pin))
