"""The pins of a corpus: which dataset a request is about, what its mixtures read, and every change of `corpus.lock`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError, TokenizerDrift
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, LockFile, RepoPin, TokenizerPin
from megacpp_assets.contract.lock.removal import Removal
from megacpp_assets.contract.names import CATEGORY_PREFIX
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.pipeline.references import References
from megacpp_assets.repos.pins import TIP
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.layout import tokenizer_path
from megacpp_assets.storage.lock_file import read_lock, update_lock
from megacpp_assets.storage.recipes import keep_recipe
from megacpp_assets.tokenizer.lock import pin_of

_NAMED_REPOSITORIES = 3
"""More than these are told by a hash in the name of their dataset."""


def pin_corpus(root: Path, recipe: Recipe, wanted: Sequence[str], *, activate: bool = True) -> Corpus:
    """`resolve_corpus`, and its pins written into `corpus.lock`; with `activate` it becomes the active dataset."""
    return write_pins(resolve_corpus(root, recipe, wanted), activate=activate)


def for_repositories(recipe: Recipe, wanted: Sequence[str]) -> Recipe:
    """The recipe for the repositories `wanted`: a dataset of its own unless they are those that the recipe names, so
    that nothing is taken away from the whole corpus. It has the specialists whose repositories are all among them,
    and those of its stand-ins.
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
    return replace(recipe, dataset=dataset, repos=tuple(names), specialists=whole, stand_ins=stand_ins)


def locked_references(root: Path, recipe: Recipe) -> tuple[str, ...]:
    """The recipe's repositories, those that its dataset pins already at the reference that the lock says. Those that
    were removed from it are left out.
    """
    lock = read_lock(root).datasets.get(recipe.dataset, CorpusLock(recipe.dataset, ""))
    pinned = {pin.name: pin.partition.key for pin in lock.repos}
    names = {text: text.partition("@")[0] for text in recipe.repos}
    return tuple(pinned.get(name, text) for text, name in names.items() if name not in lock.removed_repositories)


def overruled(recipe: Recipe, references: Sequence[str]) -> list[tuple[str, str]]:
    """(what the recipe asks for, what the lock says instead), for each repository that stays where it is pinned."""
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
    """The corpus whose mixtures read the repository of `text` (`NAME@REF`) there, in `corpus.lock` too.

    The next run makes what follows from it; the earlier reference stays known, and the lock's history tells of it, with
    the `note`.
    """
    corpus.lock.pin(text.partition("@")[0])
    moved = References.of(corpus.root, corpus.recipe, corpus.lock).resolve(text)
    return _update(
        corpus, lambda lock: lock.reading(moved if pin.name == moved.name else pin for pin in lock.repos), note=note
    )


def remove_from_lock(corpus: Corpus, removal: Removal, note: Mapping[str, Any]) -> Corpus:
    """The corpus without what is removed, in `corpus.lock` too, with the `note` in the lock's history."""
    return _update(corpus, lambda lock: lock.removing(removal), note=note)


def add_references(corpus: Corpus, texts: Sequence[str]) -> tuple[Corpus, tuple[RepoRef, ...]]:
    """The corpus that knows each of `texts` (`NAME@REF`) with its commit, in `corpus.lock` too, and their partitions.
    Mixtures stay on theirs.

    Raises `SpecError` for a repository that the dataset does not have and a reference that its source does not have.
    """
    for text in texts:
        name, at, _ = text.partition("@")
        if not at:
            raise SpecError(f"reference {text!r}", expected="NAME@REF", found="no @")
        corpus.lock.pin(name)
    references = References.of(corpus.root, corpus.recipe, corpus.lock)
    pins = [references.resolve(text) for text in texts]
    return add_pins(corpus, pins), tuple(pin.partition for pin in pins)


def knowing(corpus: Corpus, pins: Sequence[RepoPin]) -> Corpus:
    """The corpus as if it knew `pins` too; `corpus.lock` is left as it is."""
    return replace(corpus, lock=corpus.lock.knowing(pins))


def add_pins(corpus: Corpus, pins: Sequence[RepoPin]) -> Corpus:
    """The corpus that knows `pins` too, in `corpus.lock` as well. A reference that it knows keeps its commit."""
    return _update(corpus, lambda lock: lock.knowing(pins))


def write_pins(corpus: Corpus, *, activate: bool) -> Corpus:
    """Write the corpus's recipe and what its mixtures read into the data root."""
    recipe = keep_recipe(corpus.root, corpus.recipe)
    return _update(corpus, lambda lock: replace(lock, recipe=recipe).reading(corpus.lock.repos), activate=activate)


def _update(
    corpus: Corpus,
    change: Callable[[CorpusLock], CorpusLock],
    *,
    activate: bool = False,
    note: Mapping[str, Any] | None = None,
) -> Corpus:
    """The corpus after `change` of its pins. They are read under the lock: another run may have added some."""

    def changed(file: LockFile) -> LockFile:
        now = file.datasets.get(corpus.dataset, CorpusLock(corpus.dataset, ""))
        after = file.with_corpus(change(now))
        return after.activated(corpus.dataset) if activate else after

    return replace(corpus, lock=update_lock(corpus.root, changed, note).datasets[corpus.dataset])


def resolve_corpus(root: Path, recipe: Recipe, wanted: Sequence[str]) -> Corpus:
    """The corpus of `recipe` with exactly the repositories `wanted` (`NAME` or `NAME@REF`); `corpus.lock` is only read.

    A repository that is pinned stays where it is. Raises `SpecError` for another reference of it and for an unknown
    repository or reference, `SourcePinMismatch` if its tag moved, `SourceUnreachable` if a new one cannot be resolved.
    """
    before = read_lock(root).datasets.get(recipe.dataset, CorpusLock(recipe.dataset, ""))
    references = References.of(root, recipe, before)
    pins = tuple(references.pinned(text) for text in wanted)
    names = [made.name for made in pins]
    if len(set(names)) != len(names):
        raise SpecError("--repos", expected="each repository once", found=", ".join(names))
    return Corpus(root, before.reading(pins), recipe)


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
    return _update(corpus, lambda lock: replace(lock, tokenizer=pin))
