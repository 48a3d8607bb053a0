"""`corpus.lock`: for each dataset its recipe, every known `NAME@REF` with its commit, which of them the mixtures read,
the pinned tokenizer, and what was removed (TOML).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import tomlkit

from megacpp_assets.contract.errors import LineageGap, SpecError, closest_name
from megacpp_assets.contract.lock.removal import Removal
from megacpp_assets.contract.lock.written import require_forms, require_same_commit, require_texts
from megacpp_assets.contract.partition import RepoRef

FORMAT: Final = 3
_WITHOUT_REMOVALS: Final = 2
"""The format of a lock without removals. A release that does not know removals must reject a lock that has some."""
_FIRST_FORMAT: Final = 1
_WRITTEN_IF_TOLD: Final = frozenset({"submodule_owners", "category"})
_MEND: Final = (
    "put back what was there (corpus.lock.d has its earlier states), or move corpus.lock aside and run the recipe "
    "again, which pins anew; what is made of the same commits stays as it is"
)


@dataclass(frozen=True, slots=True)
class RepoPin:
    """A repository at a commit. `ref` is the tag, or `tip-<12 hex>` for a resolved tip; `specialist` may be "".

    `category` is what the repository is, by which mixtures may weigh it, or "".
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
    category: str = ""

    @property
    def partition(self) -> RepoRef:
        """The partition of this pin."""
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
    """The pins of one dataset.

    Mixtures read exactly `repos`, one reference per repository, so that an old tag never leaks into a new one. `beside`
    has the other known references, for which only the stages of a repository run. `recipe` is the sha256 of the recipe
    of the last run, which the data root keeps. References of `removed` repositories are never among the pins.
    """

    dataset: str
    recipe: str
    repos: tuple[RepoPin, ...] = ()
    tokenizer: TokenizerPin | None = None
    beside: tuple[RepoPin, ...] = ()
    removed: tuple[Removal, ...] = ()

    def pin(self, name: str) -> RepoPin:
        """Return the pin of repository `name` that mixtures read. Raises `SpecError` if the lock has none."""
        self.require_not_removed(name)
        for pin in self.repos:
            if pin.name == name:
                return pin
        known = sorted({pin.name for pin in self.repos})
        raise SpecError(
            f"repository {name!r} in corpus.lock, dataset {self.dataset}",
            closest=closest_name(name, known),
            expected=f"a pin of {name}",
            found=f"those of {', '.join(known) or 'none'}",
            do=f"name {name} under repos of the dataset's recipe and run that, or megacpp run --repos {name}, which "
            "makes a dataset of its own; megacpp repos add for a repository that no catalogue has",
        )

    def require_not_removed(self, name: str) -> None:
        """Raise `SpecError`, with the reason, if the whole repository `name` was removed."""
        for removal in self.removed:
            if (removal.repository, removal.path) == (name, ""):
                raise SpecError(
                    f"repository {name}",
                    expected=f"one that dataset {self.dataset} may have",
                    found=f"removed from it: {removal.reason}",
                    do="leave it out",
                )

    def removed_paths(self, name: str) -> tuple[str, ...]:
        """Return the patterns of the removed files of the repository `name`."""
        return tuple(removal.path for removal in self.removed if removal.repository == name and removal.path)

    @property
    def removed_repositories(self) -> frozenset[str]:
        """The names of the repositories that were removed completely."""
        return frozenset(removal.repository for removal in self.removed if not removal.path)

    def removing(self, removal: Removal) -> CorpusLock:
        """Return a copy with `removal` added. If it was removed before, the earlier reason stays."""
        known = {(other.repository, other.path): other for other in (removal, *self.removed)}
        return replace(self, removed=tuple(sorted(known.values()))).reading(self.repos)

    @property
    def known(self) -> tuple[RepoPin, ...]:
        """All pins, sorted by partition."""
        return tuple(sorted((*self.repos, *self.beside), key=lambda pin: pin.partition))

    def find(self, repo: RepoRef) -> RepoPin | None:
        """Return the pin of exactly this reference, whether mixtures read it or not; None if it is unknown."""
        return next((pin for pin in self.known if pin.partition == repo), None)

    def reading(self, pins: Iterable[RepoPin]) -> CorpusLock:
        """Return a copy whose mixtures read exactly `pins`.

        Other known pins stay known; removed repositories are left out.
        """
        read = {pin.partition: pin for pin in pins if pin.name not in self.removed_repositories}
        others = (pin for pin in self.known if pin.partition not in read and pin.name not in self.removed_repositories)
        return replace(self, repos=tuple(read[repo] for repo in sorted(read)), beside=tuple(others))

    def with_pins(self, pins: Iterable[RepoPin]) -> CorpusLock:
        """Return a copy that also knows `pins`. The references that mixtures read do not change."""
        known = {pin.partition: pin for pin in (*pins, *self.known)}
        return replace(self, beside=tuple(known.values())).reading(self.repos)

    @property
    def specialists(self) -> dict[str, str]:
        """Specialist -> the repository it over-samples."""
        return {pin.specialist: pin.name for pin in self.repos if pin.specialist}


@dataclass(frozen=True, slots=True)
class LockFile:
    """All datasets of a data root. `active` is the dataset of commands that name none."""

    active: str = ""
    datasets: Mapping[str, CorpusLock] = field(default_factory=dict)

    def with_corpus(self, corpus: CorpusLock) -> LockFile:
        """Return a copy in which `corpus` replaces the dataset of its name.

        It becomes active only if no dataset was.
        """
        return replace(self, active=self.active or corpus.dataset, datasets={**self.datasets, corpus.dataset: corpus})

    def activated(self, dataset: str) -> LockFile:
        """Return a copy whose active dataset is `dataset`."""
        return replace(self, active=dataset)

    def to_bytes(self) -> bytes:
        """Return the lock as TOML in a fixed order."""
        removed = any(corpus.removed for corpus in self.datasets.values())
        written = FORMAT if removed else _WITHOUT_REMOVALS
        document: dict[str, Any] = {"format": written, "active": self.active, "dataset": {}}
        for name in sorted(self.datasets):
            corpus = self.datasets[name]
            table: dict[str, Any] = {"recipe": corpus.recipe}
            table["reads"] = sorted(pin.partition.key for pin in corpus.repos)
            if corpus.tokenizer is not None:
                table["tokenizer"] = asdict(corpus.tokenizer)
            if corpus.removed:
                table["removed"] = [asdict(removal) for removal in corpus.removed]
            table["repo"] = {pin.partition.key: _pin_table(pin) for pin in corpus.known}
            document["dataset"][name] = table
        return tomlkit.dumps(document).encode()

    @staticmethod
    def from_bytes(data: bytes) -> LockFile:
        """Parse a lock of format 1 to 3. Raises `LineageGap` if it is malformed."""
        try:
            raw = tomllib.loads(data.decode())
            tables = _tables(raw)
            return LockFile(raw["active"], {name: _corpus(name, table) for name, table in tables.items()})
        except (ValueError, KeyError, TypeError, AttributeError, SpecError) as error:
            found = f"no key {error}" if isinstance(error, KeyError) else error
            raise LineageGap("corpus.lock", expected="a lock written by megacpp", found=found, do=_MEND) from error


def _tables(raw: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the tables of the datasets, converted to the current format."""
    written = raw.get("format", _FIRST_FORMAT)
    datasets: dict[str, dict[str, Any]] = raw["dataset"]
    if written == _FIRST_FORMAT:
        return {name: _from_first_format(table) for name, table in datasets.items()}
    if written not in (FORMAT, _WITHOUT_REMOVALS):
        expected, do = f"format {_FIRST_FORMAT} to {FORMAT}", "use the release of megacpp that wrote it, or a later one"
        raise LineageGap("corpus.lock", expected=expected, found=f"format {written}", do=do)
    return datasets


def _from_first_format(table: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a table of format 1, which had one reference per repository, under the repository's name."""
    pins = {f"{name}@{pin['ref']}": pin for name, pin in table["repo"].items()}
    kept = {key: {word: value for word, value in pin.items() if word != "ref"} for key, pin in pins.items()}
    return {**table, "reads": list(kept), "repo": kept}


def _corpus(name: str, table: Mapping[str, Any]) -> CorpusLock:
    require_forms("dataset", {"dataset": name}, "dataset")
    require_forms(f"dataset {name}", table, "recipe")
    tokenizer = table.get("tokenizer")
    if tokenizer:
        require_forms(f"tokenizer of {name}", tokenizer, "commit", "sha256")
    pins = {key: _pin(RepoRef.parse(key), pin) for key, pin in table["repo"].items()}
    read = [pins[key] for key in table["reads"]]
    if len({pin.name for pin in read}) < len(read):
        raise ValueError(f"dataset {name} that reads two references of a repository")
    known = CorpusLock(
        dataset=name,
        recipe=table["recipe"],
        tokenizer=TokenizerPin(**{**tokenizer, "repos": tuple(tokenizer["repos"])}) if tokenizer else None,
        removed=tuple(sorted(Removal(**removal) for removal in table.get("removed", ()))),
    )
    return known.with_pins(pins.values()).reading(read)


def _pin_table(pin: RepoPin) -> dict[str, Any]:
    table = {key: value for key, value in asdict(pin).items() if key not in {"name", "ref"}}
    return {key: value for key, value in table.items() if value or key not in _WRITTEN_IF_TOLD}


def _pin(repo: RepoRef, table: Mapping[str, Any]) -> RepoPin:
    require_texts(repo.key, table, "url", "license", "specialist")
    require_texts(repo.key, {"category": table.get("category", "")}, "category")
    require_forms(repo.key, table, "git_ref", "commit")
    require_same_commit(repo.key, repo.ref, table["commit"])
    owners = tuple(table.get("submodule_owners", ()))
    return RepoPin(**{**table, "name": repo.name, "ref": repo.ref, "submodule_owners": owners})
