"""A profile's recipe: everything a person may choose about a corpus, read from TOML into frozen values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib import resources
from typing import Any

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.specials import FIXED_IDS, VOCABULARY_SIZE

PROFILES = ("sample", "upstream")


@dataclass(frozen=True, slots=True)
class SourcesRecipe:
    """Limits of stage 1 on one repository with its submodules; no real one comes near. They decide no byte.

    `entries`, `path_bytes` and `path_depth` (folders and name) are of its trees, `blob_bytes` of one file,
    `total_bytes` of all files, and of what git may write to one file; `memory_bytes` (address space) and `cpu_seconds`
    are of each process, `wall_seconds` of the whole stage.
    """

    entries: int = 2_000_000
    path_bytes: int = 4096
    path_depth: int = 256
    blob_bytes: int = 1 << 30
    total_bytes: int = 64 << 30
    submodules: int = 1000
    memory_bytes: int = 8 << 30
    cpu_seconds: int = 3600
    wall_seconds: int = 4 * 3600

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if type(value) is not int or value < 1:
                raise SpecError(f"sources.{name}", expected="a whole number of at least 1", found=repr(value))


@dataclass(frozen=True, slots=True)
class SemanticRecipe:
    """Limits of stage 2: estimated tokens per document, depth of transitive dependencies, largest file in bytes.

    `configure` asks a tree's own cmake, in a sandbox, for the compile database that the tree does not hold.

    A file may take `file_cpu_seconds` of CPU time over all its tries; all files together `repository_cpu_seconds` and
    `unit_cpu_seconds` for each of them, and `wall_per_cpu` times as much by the clock. What is over its budget is
    recorded and left out; over `failed_files_per_cent` of such files, or of others that failed, stop the run.
    """

    document_tokens: int = 4096
    dependency_depth: int = 5
    file_bytes: int = 1_000_000
    configure: bool = False
    file_cpu_seconds: int = 120
    repository_cpu_seconds: int = 3600
    unit_cpu_seconds: int = 10
    wall_per_cpu: int = 10
    failed_files_per_cent: float = 5.0

    def __post_init__(self) -> None:
        least = {"file_cpu_seconds": 4, "repository_cpu_seconds": 1, "unit_cpu_seconds": 0, "wall_per_cpu": 1}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise SpecError(f"semantic.{name}", expected=f"at least {bound}", found=getattr(self, name))
        if not 0 <= self.failed_files_per_cent <= 100:
            raise SpecError("semantic.failed_files_per_cent", expected="0 to 100", found=self.failed_files_per_cent)


@dataclass(frozen=True, slots=True)
class TokenizerRecipe:
    """Vocabulary size in ids (fixed band included) and the whitespace recipe of the splitter."""

    vocabulary_size: int = VOCABULARY_SIZE
    whitespace: str = "operators_carry_spaces"

    def __post_init__(self) -> None:
        if self.vocabulary_size < FIXED_IDS:
            raise SpecError("tokenizer.vocabulary_size", expected=f"at least {FIXED_IDS}", found=self.vocabulary_size)


@dataclass(frozen=True, slots=True)
class MixtureRecipe:
    """Over-sampling: a specialist sees its own repository `own_weight` times, every other once; packing `seed`."""

    own_weight: float = 4.0
    seed: int = 42


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """The model (GPT), its optimiser and the run. `threads` is fixed because it decides the bits of a CPU run."""

    layers: int = 4
    hidden: int = 256
    heads: int = 4
    steps: int = 100
    save_every: int = 50
    batch_rows: int = 1
    learning_rate: float = 1e-3
    warmup_steps: int = 5
    weight_decay: float = 0.1
    gradient_clip: float = 1.0
    seed: int = 1234
    threads: int = 2
    device: str = "cpu"
    processes: int = 1
    structure_components: str = "core"
    structure_bottleneck: int = 64


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole profile. `dataset` names its corpus, `catalogue` the file that lists its repositories."""

    profile: str
    dataset: str
    catalogue: str
    repos: tuple[str, ...]
    phases: tuple[str, ...]
    sources: SourcesRecipe
    semantic: SemanticRecipe
    tokenizer: TokenizerRecipe
    mixture: MixtureRecipe
    training: TrainingRecipe


def configuring(recipe: Recipe, wanted: bool) -> Recipe:
    """`recipe` with or without asking trees for their compile databases."""
    return replace(recipe, semantic=replace(recipe.semantic, configure=wanted))


def load_recipe(profile: str) -> Recipe:
    """The recipe shipped as `recipes/<profile>.toml`; `SpecError` for an unknown profile or key."""
    if profile not in PROFILES:
        raise SpecError("profile", expected=" or ".join(PROFILES), found=repr(profile))
    text = resources.files("megacpp_assets").joinpath("recipes", f"{profile}.toml").read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    return Recipe(
        profile=profile,
        dataset=raw["dataset"],
        catalogue=raw["catalogue"],
        repos=tuple(raw["repos"]),
        phases=tuple(raw["phases"]),
        sources=_section(SourcesRecipe, raw, "sources"),
        semantic=_section(SemanticRecipe, raw, "semantic"),
        tokenizer=_section(TokenizerRecipe, raw, "tokenizer"),
        mixture=_section(MixtureRecipe, raw, "mixture"),
        training=_section(TrainingRecipe, raw, "training"),
    )


def _section(kind: Any, raw: Mapping[str, Any], name: str) -> Any:
    try:
        return kind(**raw.get(name, {}))
    except TypeError as error:
        raise SpecError(
            f"recipe section [{name}]", expected=", ".join(kind.__dataclass_fields__), found=str(error)
        ) from error


def as_config(section: Any) -> dict[str, Any]:
    """A recipe section as manifest configuration."""
    return asdict(section)
