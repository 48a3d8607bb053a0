"""Whether a recipe trained a checkpoint: what the manifests of its chain record is compared with what the recipe asks.

References of repositories, removals and facts of a machine are not compared: a promotion, a removal, or another
compiler, makes no other recipe.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import LineageGap, MegacppError, SpecError
from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.training import PLACEMENT
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.lineage.history import KnownManifest, ManifestHistory
from megacpp_assets.pipeline.stages import CHECKPOINT, SOURCES, STAGES, TOKENIZER, Kind
from megacpp_assets.pipeline.steps import mixture_before
from megacpp_assets.storage.publish import Target
from megacpp_assets.storage.root.lock_file import lock_history
from megacpp_assets.storage.root.recipes import kept_recipe

_PINNED: Final = frozenset({SOURCES, TOKENIZER})
"""Stages whose artifacts the lock decides, not the recipe."""
_NOT_OF_RECIPE: Final = frozenset({"commit", "license", "ref", "projects", "removed", "toolchain", "detector", "cmake"})
"""Keys of configurations whose values are facts of the lock or of the machine."""
_REFERENCES: Final = frozenset({"repos", "stand_ins"})
"""Keys of configurations whose values are lists of NAME@REF, of which the names are compared, without removed ones."""

_OF_ALL_REPOSITORIES: Final = frozenset({"weights", "duplicates", "definitions"})
"""Keys of configurations whose values depend on all repositories of the dataset, so that a removal changes them."""


class TrainedBy:
    """Judges the checkpoints of a corpus by its recipe. A manifest that several checkpoints share is compared once."""

    def __init__(self, corpus: Corpus, history: ManifestHistory) -> None:
        self._corpus = corpus
        self._history = history
        self._known: dict[str, bool] = {}

    def trained(self, path: str) -> bool:
        """Return whether the recipe trained the checkpoint at `path`, from the first stage on.

        One that is damaged, or whose chain lacks a manifest, counts: its audit names the damage. In a manifest of
        another release only the keys that both releases know are compared. A stage whose configuration this machine
        cannot compute, as without a compiler, is not compared.
        """
        try:
            chain = self._history.chain(self._history.find(self._history.on_disk.get(path, "")))
            phases = {made.partition for made in chain.values() if made.stage == CHECKPOINT}
            specialist, phase = path.split("/")[2:4]
            wanted = set(_line(self._corpus, f"{specialist}/{phase}"))
            if not wanted and self._corpus.lock.removed_repositories and phase in self._corpus.recipe.phases:
                wanted = phases  # the specialist may have had only removed repositories
            return phases == wanted and all(map(self._asks_for, chain.values()))
        except LineageGap:
            return True

    def _asks_for(self, made: KnownManifest) -> bool:
        if made.sha256 not in self._known:
            self._known[made.sha256] = _asks_for(self._corpus, self._history.read(made))
        return self._known[made.sha256]


def earlier_recipe(corpus: Corpus, history: ManifestHistory, path: str) -> str:
    """Return the hash of the newest earlier recipe of the dataset that trained the checkpoint at `path`.

    It is "" if the present recipe trained it, or if no recipe is known that did.
    """
    if TrainedBy(corpus, history).trained(path):
        return ""
    judged = {corpus.lock.recipe}
    for _, lock in reversed(lock_history(corpus.root)):
        before = lock.datasets.get(corpus.dataset)
        if before is None or before.recipe in judged:
            continue
        judged.add(before.recipe)
        with suppress(LineageGap):
            recipe = kept_recipe(corpus.root, before.recipe)
            if TrainedBy(replace(corpus, recipe=recipe), history).trained(path):
                return before.recipe
    return ""


def _line(corpus: Corpus, partition: str) -> Iterator[str]:
    """Yield the mixture `partition`, and the mixtures whose trainings come before its own; none if it is unknown."""
    try:
        mixture = corpus.mixture(partition)
    except SpecError:
        return
    yield mixture.key
    while (before := mixture_before(corpus, mixture)) is not None:
        mixture = before
        yield mixture.key


def _asks_for(corpus: Corpus, made: Manifest) -> bool:
    """Return whether the recipe of `corpus` asks for the configuration in the manifest `made`."""
    stage = STAGES[made.stage]
    if stage.name in _PINNED:
        return True
    if not stage.wanted(corpus.recipe):
        return False
    if stage.name == CHECKPOINT:
        training = as_config(corpus.recipe.training_of(made.partition.rpartition("/")[2]))
        return _agree(made.config["recipe"], training, without=frozenset(PLACEMENT), every=False)
    if stage.kind is Kind.REPOSITORY and corpus.lock.find(RepoRef.parse(made.partition)) is None:
        return True  # the lock no longer knows this reference; the packed rows name the repositories
    target, removed = _target(corpus, made), corpus.lock.removed_repositories
    without = _NOT_OF_RECIPE | _OF_ALL_REPOSITORIES if removed else _NOT_OF_RECIPE
    every = target is not None and made.version == target.version
    return target is None or _agree(made.config, target.config, every=every, without=without, removed=removed)


def _target(corpus: Corpus, made: Manifest) -> Target | None:
    """Return what the recipe asks of the partition of `made`; None if this machine cannot say."""
    try:
        implementation = STAGES[made.stage].implementation
        return implementation.target(implementation.spec(corpus, made.partition))
    except MegacppError:
        return None


def _agree(
    made: Mapping[str, Any],
    asked: Mapping[str, Any],
    *,
    every: bool,
    without: frozenset[str] = _NOT_OF_RECIPE,
    removed: frozenset[str] = frozenset(),
) -> bool:
    """Return whether two configurations agree in all keys, or, unless `every`, in those that both have.

    Repositories that were `removed` since are left out of both.
    """
    one, two = _plain(made, removed), _plain(asked, removed)
    keys = one.keys() | two.keys() if every else one.keys() & two.keys()
    return all(one.get(key) == two.get(key) for key in keys - without)


def _plain(config: Mapping[str, Any], removed: frozenset[str]) -> dict[str, Any]:
    """Return a configuration as a manifest stores it, with names of repositories in place of their references."""
    stored: dict[str, Any] = json.loads(canonical_json(dict(config)))
    lists = {key: {RepoRef.asked(text)[0] for text in stored[key]} for key in _REFERENCES & stored.keys()}
    return stored | {key: sorted(names - removed) for key, names in lists.items()}
