"""`corpus.lock`: for each dataset its recipe, the pinned commit of each repository, and the pinned tokenizer (TOML)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import tomlkit

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.partition import RepoRef


@dataclass(frozen=True, slots=True)
class RepoPin:
    """A repository at a commit. `ref` is the tag, or `tip-<12 hex>` for a resolved tip; `specialist` may be "".

    `submodule_owners` are those HOST/OWNER, beside the repository's own, that its submodules may come from.
    """

    name: str
    ref: str
    git_ref: str
    commit: str
    url: str
    license: str
    specialist: str
    submodules: bool = False
    submodule_owners: tuple[str, ...] = ()

    @property
    def partition(self) -> RepoRef:
        """The partition this pin stands for."""
        return RepoRef(self.name, self.ref)


@dataclass(frozen=True, slots=True)
class TokenizerPin:
    """The commit of the tokenizer registry and the sha256 of the `tokenizer.json` it holds.

    `repos` are the partitions it was trained on: a new tag changes the corpus, never this list.
    """

    commit: str
    sha256: str
    repos: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CorpusLock:
    """The pins of one dataset. Mixtures read exactly these repositories, so an old tag never leaks into a new one.

    `recipe` is the sha256 of the recipe that its last run followed; the data root keeps it.
    """

    dataset: str
    recipe: str
    repos: tuple[RepoPin, ...] = ()
    tokenizer: TokenizerPin | None = None

    def pin(self, name: str) -> RepoPin:
        """The pin of repository `name`; `SpecError` if the lock has none."""
        for pin in self.repos:
            if pin.name == name:
                return pin
        raise SpecError(
            f"corpus.lock, dataset {self.dataset}", expected=f"a pin of {name}", found="none", do="megacpp repos add"
        )

    @property
    def specialists(self) -> dict[str, str]:
        """Specialist -> the repository it over-samples."""
        return {pin.specialist: pin.name for pin in self.repos if pin.specialist}


@dataclass(frozen=True, slots=True)
class LockFile:
    """All datasets of a data root; `active` is the one that commands mean when none is named."""

    active: str = ""
    datasets: Mapping[str, CorpusLock] = field(default_factory=dict)

    def with_corpus(self, corpus: CorpusLock) -> LockFile:
        """A copy in which `corpus` replaces the dataset of its name; it is active only if none was."""
        return replace(self, active=self.active or corpus.dataset, datasets={**self.datasets, corpus.dataset: corpus})

    def activated(self, dataset: str) -> LockFile:
        """A copy whose active dataset is `dataset`."""
        return replace(self, active=dataset)

    def to_bytes(self) -> bytes:
        """TOML bytes, in a fixed order."""
        document: dict[str, Any] = {"active": self.active, "dataset": {}}
        for name in sorted(self.datasets):
            corpus = self.datasets[name]
            table: dict[str, Any] = {"recipe": corpus.recipe}
            if corpus.tokenizer is not None:
                table["tokenizer"] = asdict(corpus.tokenizer)
            table["repo"] = {pin.name: _pin_table(pin) for pin in sorted(corpus.repos, key=lambda pin: pin.name)}
            document["dataset"][name] = table
        return tomlkit.dumps(document).encode()

    @staticmethod
    def from_bytes(data: bytes) -> LockFile:
        """Parse; `LineageGap` if it is not a lock."""
        try:
            raw = tomllib.loads(data.decode())
            return LockFile(raw["active"], {name: _corpus(name, table) for name, table in raw["dataset"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LineageGap("corpus.lock", expected="a lock written by megacpp", found=str(error)) from error


def _corpus(name: str, table: Mapping[str, Any]) -> CorpusLock:
    tokenizer = table.get("tokenizer")
    return CorpusLock(
        dataset=name,
        recipe=table["recipe"],
        repos=tuple(_pin(repo, pin) for repo, pin in table["repo"].items()),
        tokenizer=TokenizerPin(**{**tokenizer, "repos": tuple(tokenizer["repos"])}) if tokenizer else None,
    )


def _pin_table(pin: RepoPin) -> dict[str, Any]:
    table = {key: value for key, value in asdict(pin).items() if key != "name"}
    if not pin.submodule_owners:
        del table["submodule_owners"]
    return table


def _pin(name: str, table: Mapping[str, Any]) -> RepoPin:
    return RepoPin(**{**table, "name": name, "submodule_owners": tuple(table.get("submodule_owners", ()))})
