"""The complete recipe: its sections, and the rules between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from megacpp_assets.contract.document_sets import (
    COMMIT_VERSIONS,
    VERSIONS,
    DocumentSet,
    is_windows,
    order_of,
    versioned,
)
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import BASE_SPECIALIST, CATEGORY_PREFIX, REPOSITORY_CATEGORIES
from megacpp_assets.contract.partition import require_label
from megacpp_assets.contract.recipe.alerts import AlertsRecipe
from megacpp_assets.contract.recipe.concurrency import ConcurrencyRecipe
from megacpp_assets.contract.recipe.curation import CurationRecipe
from megacpp_assets.contract.recipe.documents import (
    BY_CATALOGUE,
    HoldoutRecipe,
    MixtureRecipe,
    PromotionRecipe,
    SemanticRecipe,
    SourcesRecipe,
    TokenizerRecipe,
    require_weight,
)
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.recipe.key import require_allowed, required, table
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.contract.recipe.rows import (
    DATASET_NAME,
    MegatronRecipe,
    PackingRecipe,
    PhaseRecipe,
    standard_phases,
)
from megacpp_assets.contract.recipe.training import DENSE, MAX_DENSE_TOKENS, TrainingRecipe

_FOLDER: Final = re.compile(r"(?!\.\.?(/|$))[\w.+-]+(/(?!\.\.?(/|$))[\w.+-]+)*")
_CMAKE_OPTION: Final = re.compile(r"-D\w[\w.+-]*(:[A-Z]+)?=[^\x00-\x1f\x7f]*")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a person may choose about a corpus. `notes` of `key` says what each key means."""

    dataset: str = required("Name of the corpus; part of every path.", allowed='1 to 100 letters, digits, "_" and "-"')
    catalogue: str = required(
        "Where repositories are described: a shipped catalogue or the path of a TOML file.",
        allowed='"sample", "upstream", "extended", or a path from the recipe\'s folder',
    )
    repos: tuple[str, ...] = required(
        "Repositories of the catalogue, as NAME or NAME@REF.", allowed="at least one, each once"
    )
    curriculum: tuple[str, ...] = required(
        "Phases that a run builds, in this order.", allowed="names of phases, each once"
    )
    phases: Mapping[str, PhaseRecipe] = table(
        standard_phases,
        "Lengths of rows and documents; 4k, 16k, 64k and structure exist in every recipe.",
        allowed="tables [phases.NAME]",
    )
    specialists: Mapping[str, Mapping[str, float]] = table(
        dict,
        "Mixtures by name. Each has sampling weights of repositories, or of all repositories of a category "
        "(category:NAME). Other weights are 1.",
        allowed="tables [specialists.NAME] of positive numbers",
    )
    stand_ins: Mapping[str, tuple[str, ...]] = table(
        dict,
        "Repositories whose headers are used while the sources of another repository are parsed.",
        allowed="lists of repositories of this recipe",
    )
    cmake_arguments: Mapping[str, tuple[str, ...]] = table(
        dict,
        "Arguments of cmake for a repository, if semantic.configure is true: the folder of the project, if it is not "
        "the root, and values of the project's options.",
        allowed='lists of "-S", a folder of the repository, and "-DNAME=VALUE"',
    )
    sources: SourcesRecipe = field(default_factory=SourcesRecipe)
    curation: CurationRecipe = field(default_factory=CurationRecipe)
    semantic: SemanticRecipe = field(default_factory=SemanticRecipe)
    history: HistoryRecipe = field(default_factory=HistoryRecipe)
    holdout: HoldoutRecipe = field(default_factory=HoldoutRecipe)
    tokenizer: TokenizerRecipe = field(default_factory=TokenizerRecipe)
    mixture: MixtureRecipe = field(default_factory=MixtureRecipe)
    packing: PackingRecipe = field(default_factory=PackingRecipe)
    megatron: MegatronRecipe = field(default_factory=MegatronRecipe)
    promotion: PromotionRecipe = field(default_factory=PromotionRecipe)
    training: TrainingRecipe = field(default_factory=TrainingRecipe)
    launch: LaunchRecipe = field(default_factory=LaunchRecipe)
    concurrency: ConcurrencyRecipe = field(default_factory=ConcurrencyRecipe)
    alerts: AlertsRecipe = field(default_factory=AlertsRecipe)

    def __post_init__(self) -> None:
        if not DATASET_NAME.fullmatch(self.dataset):
            raise SpecError("dataset", expected="1 to 100 letters, digits, '_' and '-'", found=repr(self.dataset))
        for name, value in (("repos", self.repos), ("curriculum", self.curriculum)):
            if not value or len({text.partition("@")[0] for text in value}) < len(value):
                raise SpecError(name, expected="at least one, each once", found=", ".join(value) or "none")
        for phase in self.curriculum:
            self._require_phase("curriculum", phase)
        if self.training.processes % self.launch.nodes:
            expected = f"a multiple of the {self.launch.nodes} nodes of launch.nodes"
            raise SpecError("training.processes", expected=expected, found=self.training.processes)
        self._require_short_rows()
        _require_phases(self.phases, longer=self.packing.overflow != "refuse")
        for phase in self.curriculum:
            self.training_of(phase)
        names = {text.partition("@")[0] for text in self.repos}
        _require_specialists(self.specialists, names)
        _require_stand_ins(self.stand_ins, names)
        _require_cmake_arguments(self.cmake_arguments, names)

    def _require_short_rows(self) -> None:
        """Raise `SpecError` if a phase has longer rows than a dense mask of all pairs of tokens serves."""
        longest = max(self.phases[name].row_tokens for name in self.curriculum)
        if self.training.attention == DENSE and longest > MAX_DENSE_TOKENS:
            expected = f"auto or varlen for rows above {MAX_DENSE_TOKENS:,} tokens"
            raise SpecError("training.attention", expected=expected, found=f"{DENSE} for rows of {longest:,}")

    def duplicates(self, repositories: int) -> str:
        """Return what a mixture of `repositories` repositories does with documents that are near-duplicates.

        Never "by_catalogue". The catalogue of 142 has many projects that contain copies of each other; others are few,
        or a person's own.
        """
        return self._action(self.mixture.duplicates, repositories)

    def definitions(self, repositories: int) -> str:
        """Return what a mixture of `repositories` repositories does with definitions that are near-duplicates."""
        return self._action(self.mixture.definitions, repositories)

    def _action(self, asked: str, repositories: int) -> str:
        if asked != BY_CATALOGUE:
            return asked
        return "drop_near" if self.catalogue == "extended" and repositories > 1 else "report"

    def blend(self, name: str) -> dict[DocumentSet, float]:
        """Return the sampling weight of each document set that the phase `name` blends in.

        Raises `SpecError` if no phase of the curriculum makes the documents.
        """
        found = {self._blended(name, other): weight for other, weight in self.phases[name].blend.items()}
        for other in self.phases[name].blend:
            self._require_made(f"phases.{name}.blend.{other}", name if other in VERSIONS else other)
        return found

    def _blended(self, name: str, other: str) -> DocumentSet:
        """Return the document set for the key `other` in the blend of phase `name`."""
        if other in VERSIONS:
            return versioned(other, self.phases[name].document_tokens)
        return self.phases[other].document_tokens

    @property
    def versions(self) -> tuple[str, ...]:
        """The dataset versions that phases of the curriculum blend in, each once, in the order of `VERSIONS`."""
        named = {other for name in self.curriculum for other in self.phases[name].blend}
        return tuple(version for version in VERSIONS if version in named)

    @property
    def commit_versions(self) -> tuple[str, ...]:
        """The named versions that are files or differences of commits."""
        return tuple(version for version in self.versions if version in COMMIT_VERSIONS)

    @property
    def window_sets(self) -> tuple[str, ...]:
        """The document sets of windows that phases of the curriculum name, shortest first."""
        return tuple(str(documents) for documents in self.document_sets if is_windows(documents))

    @property
    def document_sets(self) -> tuple[DocumentSet, ...]:
        """Every document set that is tokenized: the budgets, then the versions that phases of the curriculum name."""
        named = (
            versioned(other, self.phases[name].document_tokens)
            for name in self.curriculum
            for other in self.phases[name].blend
            if other in VERSIONS
        )
        return (*self.budgets, *sorted(set(named), key=order_of))

    @property
    def budgets(self) -> tuple[int, ...]:
        """The `document_tokens` of the curriculum's phases, each once, ascending: documents are made for each."""
        return tuple(sorted({self.phases[name].document_tokens for name in self.curriculum}))

    def token_limit(self, budget: int) -> int:
        """Return the most tokens of a document of `budget`: if long documents are split, those of its shortest row."""
        if self.packing.overflow != "split":
            return budget
        phases = (self.phases[name] for name in self.curriculum)
        return min(budget, *(phase.row_tokens for phase in phases if phase.document_tokens == budget))

    def phase(self, name: str) -> PhaseRecipe:
        """Return the phase `name`. Raises `SpecError` if it is unknown, or if no documents are made for its budget."""
        self._require_phase("phase", name)
        self._require_made(f"phases.{name}.document_tokens", name)
        self.blend(name)
        return self.phases[name]

    def _require_made(self, where: str, name: str) -> None:
        """Raise `SpecError` unless documents are made for the budget of the phase `name`."""
        if self.phases[name].document_tokens not in self.budgets:
            raise SpecError(
                where,
                expected=f"the budget of a phase of the curriculum: {', '.join(map(str, self.budgets))}",
                found=self.phases[name].document_tokens,
                do=f"add {name} to the recipe's curriculum",
            )

    def training_of(self, name: str) -> TrainingRecipe:
        """Return how the phase `name` trains: `training`, structure-aware if this phase or one before it is.

        A phase counts as one before it if its weights reach this one. Raises `SpecError` if the model cannot be so.
        """
        phases = [name]
        while before := self.phase_before(phases[-1]):
            phases.append(before)
        aware = any(self.phases[each].structure_aware for each in phases)
        return self.training.structure_aware() if aware else self.training

    def phase_before(self, name: str) -> str:
        """Return the phase whose weights the phase `name` starts from; "" if it starts from random weights."""
        if not self.training.from_previous_phase or name not in self.curriculum[1:]:
            return ""
        return self.curriculum[self.curriculum.index(name) - 1]

    def _require_phase(self, where: str, name: str) -> None:
        if name not in self.phases:
            do = f"add [phases.{name}] with its row_tokens to the recipe"
            raise SpecError.unknown(where, name, self.phases, do)


def _require_phases(phases: Mapping[str, PhaseRecipe], *, longer: bool) -> None:
    for name, phase in phases.items():
        require_label(f"phases.{name}", name)
        if name in VERSIONS:
            raise SpecError(f"phases.{name}", expected="another name than a dataset version", found=repr(name))
        if problem := phase.problem(longer=longer):
            key, expected, found = problem
            raise SpecError(f"phases.{name}.{key}", expected=expected, found=found)
        require_allowed(phase, f"phases.{name}")
        _require_blend(name, phases)


def _require_blend(name: str, phases: Mapping[str, PhaseRecipe]) -> None:
    phase, seen = phases[name], {phases[name].document_tokens}
    for other, weight in phase.blend.items():
        where = f"phases.{name}.blend.{other}"
        require_weight(where, weight)
        if other in VERSIONS:
            continue
        fits = {key for key, one in phases.items() if one.document_tokens <= phase.row_tokens} - {name}
        if other not in fits:
            fitting = ", ".join(sorted(fits)) or "none does"
            versions = ", ".join(VERSIONS)
            expected = f"a phase whose documents fit its rows: {fitting}; or a dataset version: {versions}"
            raise SpecError(where, expected=expected, found=repr(other))
        if phases[other].document_tokens in seen:
            raise SpecError(where, expected="documents of another budget", found=phases[other].document_tokens)
        seen.add(phases[other].document_tokens)


def _require_specialists(specialists: Mapping[str, Mapping[str, float]], repos: Iterable[str]) -> None:
    categories = {f"{CATEGORY_PREFIX}{category}" for category in REPOSITORY_CATEGORIES}
    for name, weights in specialists.items():
        require_label(f"specialists.{name}", name)
        if name == BASE_SPECIALIST or not weights:
            expected = f"repositories and their weights, and another name than {BASE_SPECIALIST}"
            raise SpecError(f"specialists.{name}", expected=expected, found=dict(weights) or "no repository")
        for key, weight in weights.items():
            if key not in repos and key not in categories:
                expected = f"one of the recipe's repositories: {', '.join(sorted(repos))}, or {CATEGORY_PREFIX}CATEGORY"
                raise SpecError(f"specialists.{name}.{key}", expected=expected, found=repr(key))
            require_weight(f"specialists.{name}.{key}", weight)


def _require_stand_ins(stand_ins: Mapping[str, tuple[str, ...]], repos: set[str]) -> None:
    for name, others in stand_ins.items():
        expected = f"repositories of the recipe, each once: {', '.join(sorted(repos - {name}))}"
        if name not in repos or not others or len(set(others)) < len(others) or not set(others) <= repos - {name}:
            raise SpecError(f"stand_ins.{name}", expected=expected, found=", ".join(others) or "none")


def _require_cmake_arguments(arguments: Mapping[str, tuple[str, ...]], repos: set[str]) -> None:
    for name, stated in arguments.items():
        if name not in repos:
            expected = f"a repository of the recipe: {', '.join(sorted(repos))}"
            raise SpecError("cmake_arguments", expected=expected, found=repr(name))
        options = stated[2:] if stated[:1] == ("-S",) and _FOLDER.fullmatch("".join(stated[1:2])) else stated
        if not stated or not all(map(_CMAKE_OPTION.fullmatch, options)):
            expected = '"-S" and a relative folder without "..", then any number of "-DNAME=VALUE"'
            raise SpecError(f"cmake_arguments.{name}", expected=expected, found=list(stated))


def as_config(section: Any) -> dict[str, Any]:
    """Return a recipe section as manifest configuration."""
    return asdict(section)
