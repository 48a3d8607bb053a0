"""A corpus, the input of every stage: one dataset of `corpus.lock` under one data root, and its recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, RepoPin
from megacpp_assets.contract.names import BASE_SPECIALIST, CATEGORY_PREFIX
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.contract.recipe.whole import Recipe


@dataclass(frozen=True, slots=True)
class Corpus:
    """A dataset of the data root `root`; `lock` and `recipe` decide everything that is made for it."""

    root: Path
    lock: CorpusLock
    recipe: Recipe

    @property
    def dataset(self) -> str:
        """The name of the dataset, which is part of every path."""
        return self.lock.dataset

    @property
    def repo_refs(self) -> tuple[RepoRef, ...]:
        """The repository references that mixtures read, sorted by name."""
        return tuple(sorted(pin.partition for pin in self.lock.repos))

    @property
    def known_refs(self) -> tuple[RepoRef, ...]:
        """Every known reference of its repositories, read by mixtures or not."""
        return tuple(pin.partition for pin in self.lock.known)

    @property
    def specialists(self) -> tuple[str, ...]:
        """`base`, then the specialists of the recipe and of pinned repositories, sorted.

        A specialist whose repositories were all removed is left out.
        """
        named = {name for name in self.recipe.specialists if self._weights_of_recipe(name)}
        return (BASE_SPECIALIST, *sorted(named | self.lock.specialists.keys()))

    def _weights_of_recipe(self, specialist: str) -> dict[str, float]:
        """Return weights by repository. A weight for the repository itself overrides the weight of its category."""
        weights = self.recipe.specialists.get(specialist, {})
        removed = self.lock.removed_repositories
        by_category = {
            pin.name: weight
            for pin in self.lock.repos
            if (weight := weights.get(f"{CATEGORY_PREFIX}{pin.category}")) is not None
        }
        named = {name: weight for name, weight in weights.items() if not name.startswith(CATEGORY_PREFIX)}
        return by_category | {name: weight for name, weight in named.items() if name not in removed}

    def stand_ins(self, name: str) -> tuple[RepoRef, ...]:
        """Return the repositories whose headers are used while the sources of the repository `name` are parsed.

        Removed repositories are left out.
        """
        others = self.recipe.stand_ins.get(name, ())
        return tuple(self.lock.pin(other).partition for other in others if other not in self.lock.removed_repositories)

    def unpinned(self) -> Corpus:
        """Return a copy without a pinned tokenizer, so that one is trained. The file `corpus.lock` does not change."""
        return replace(self, lock=replace(self.lock, tokenizer=None))

    def pin(self, key: str) -> RepoPin:
        """Return the pin of the partition `key`. Raises `SpecError` if the lock does not have that reference."""
        repo = RepoRef.parse(key)
        self.lock.require_not_removed(repo.name)
        pin = self.lock.find(repo)
        if pin is None:
            where, known = f"reference of dataset {self.dataset}", [other.key for other in self.known_refs]
            same = [other.key for other in self.known_refs if other.name == repo.name]
            if not same:
                raise SpecError.unknown(where, key, known, "megacpp lock show lists what it knows")
            do = f"if upstream has it, megacpp backfill --repo {repo.name} --tags {repo.ref!r} pins and builds it"
            raise SpecError(f"{where} {key!r}", expected=f"one of {', '.join(same)}", found="not pinned", do=do)
        return pin

    def weights(self, specialist: str) -> dict[str, float]:
        """Return the sampling weight of each repository for `specialist`; 1 for a repository that is not in the result.

        A weight is the specialist's own weight times the weight of the repository's category. Raises `SpecError` if
        neither the recipe nor a pinned repository defines the specialist, or if the recipe has weights for categories
        and a repository has no category.
        """
        own, categories = self._own_weights(specialist), self.recipe.mixture.categories
        if not categories:
            return own
        weights = {pin.name: own.get(pin.name, 1.0) * categories.get(_category(pin), 1.0) for pin in self.lock.repos}
        return {name: weight for name, weight in weights.items() if name in own or weight != 1}

    def _own_weights(self, specialist: str) -> dict[str, float]:
        if specialist == BASE_SPECIALIST:
            return {}
        if weights := self._weights_of_recipe(specialist):
            return weights
        if specialist in self.lock.specialists:
            return {self.lock.specialists[specialist]: self.recipe.mixture.own_weight}
        do = f"name one of {', '.join(self.specialists)}; or add [specialists.{specialist}] to the recipe"
        raise SpecError.unknown("specialist", specialist, self.specialists, do)

    def mixtures(self, specialists: Sequence[str], phases: Sequence[str]) -> tuple[Mixture, ...]:
        """Return a mixture for every specialist in every phase. Raises `SpecError` for an unknown name."""
        for phase in phases:
            self.recipe.phase(phase)
        for specialist in specialists:
            self.weights(specialist)
        return tuple(Mixture(specialist, phase) for phase in phases for specialist in specialists)

    def mixture(self, key: str) -> Mixture:
        """Return the mixture `SPECIALIST/PHASE`. Raises `SpecError` for another form or an unknown name."""
        asked = Mixture.parse(key)
        return self.mixtures([asked.specialist], [asked.phase])[0]


def _category(pin: RepoPin) -> str:
    if not pin.category:
        do = f'add category = "…" to [repo.{pin.name}] of the catalogue, and run again'
        expected = "a category, as mixture.categories of the recipe weighs by it"
        raise SpecError(f"repository {pin.name}", expected=expected, found="none", do=do)
    return pin.category
