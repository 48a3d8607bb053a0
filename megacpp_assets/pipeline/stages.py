"""The table of stages, one row each. Order, dependencies, Dagster's assets, checks, progress bars and `--until`
follow from it.

A stage is a folder with a `stage.py` (`spec`, `target`, `run`), a module of the same name in `quality/`, and a row
here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Final, Protocol, cast

from megacpp_assets.compute.cores import ELASTIC
from megacpp_assets.compute.tokenizer_device import GPU, tokenizer_device
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.extras import import_or_name_extra
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.contract.step import CheckResult, Progress
from megacpp_assets.quality.shared.table import Check
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Target


class Kind(Enum):
    """What one partition of a stage is."""

    REPOSITORY = "repository"
    """`NAME@REF`"""
    DATASET = "dataset"
    """The dataset's name: one partition in all."""
    MIXTURE = "mixture"
    """`SPECIALIST/PHASE`"""


class Implementation(Protocol):
    """The `stage.py` of a stage."""

    def spec(self, corpus: Corpus, partition: str) -> Any:
        """Return everything that determines one partition, taken from the corpus."""

    def target(self, spec: Any) -> Target:
        """Return where the artifact belongs and what determines its bytes."""

    def run(self, spec: Any, progress: Progress) -> Artifact:
        """Make the artifact. A current one is returned unchanged."""


class Quality(Protocol):
    """The module of a stage in `quality/`: the table of its checks, and the function that runs them."""

    CHECKS: Sequence[Check[Any]]

    def check(self, artifact: Artifact) -> Sequence[CheckResult]:
        """Run every check; return the results in the order of `CHECKS`."""


def _always(recipe: Recipe) -> bool:
    """True for every recipe."""
    del recipe
    return True


def _never(recipe: Recipe) -> bool:
    """False for every recipe."""
    del recipe
    return False


def _without_benchmarks(recipe: Recipe) -> bool:
    """Return whether documents of commits depend on inputs and recipe only, not on files of benchmarks."""
    return not recipe.curation.benchmarks


@dataclass(frozen=True, slots=True)
class Stage:
    """A row of the table.

    `description` says what one partition holds; `figures` names its statistics in the order of interest. One partition
    needs `cores` (or `ELASTIC`), `memory` (bytes) and one slot of `resource`, which `[concurrency]` of the recipe
    counts. If `wanted` is false for a recipe, its corpora do not have the stage. If `on_workers` is true, a worker of a
    cluster can make one partition: it reads its inputs only, and the machine's headers if `reads_headers`.
    """

    name: str
    kind: Kind
    folder: str
    group: str
    kinds: frozenset[str]
    description: str
    upstream: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    cores: int | Callable[[Recipe], int] = 1
    memory: int = 1_000_000_000
    resource: str | Callable[[Recipe], str] = ""
    wanted: Callable[[Recipe], bool] = _always
    on_workers: Callable[[Recipe], bool] = _never
    reads_headers: bool = False

    @property
    def implementation(self) -> Implementation:
        """Return the stage's own module, imported when it is first needed. `MissingExtra` if its libraries are
        missing.
        """
        return cast(Implementation, import_or_name_extra(f"megacpp_assets.{self.folder}.stage"))

    @property
    def quality(self) -> Quality:
        """Return the module of its checks."""
        return cast(Quality, import_or_name_extra(f"megacpp_assets.quality.{self.folder}"))

    def cores_for(self, recipe: Recipe) -> int:
        """Return the number of cores for one partition, or `ELASTIC`."""
        return self.cores(recipe) if callable(self.cores) else self.cores

    def resource_for(self, recipe: Recipe) -> str:
        """Return the resource of which one partition needs a slot; "" for none."""
        return self.resource(recipe) if callable(self.resource) else self.resource


def _accelerator_of_the_tokenizer(recipe: Recipe) -> str:
    del recipe
    return "accelerator" if tokenizer_device() == GPU else ""


def _accelerator_of_training(recipe: Recipe) -> str:
    """A training on the CPU of this machine needs cores only."""
    return "accelerator" if recipe.training.device != "cpu" or recipe.launch.launcher != "local" else ""


def _history(recipe: Recipe) -> bool:
    """Return whether a phase of the recipe takes a dataset version that is made of commits."""
    return bool(recipe.versions)


def _commit_documents(recipe: Recipe) -> bool:
    """Return whether a phase takes files or differences of commits."""
    return bool(recipe.commit_versions)


def _commit_windows(recipe: Recipe) -> bool:
    """Return whether a phase takes windows around modified functions, by names."""
    return "v4" in recipe.versions


def _resolved_windows(recipe: Recipe) -> bool:
    """Return whether a phase takes windows around modified functions, as the compiler resolves them."""
    return "v5" in recipe.versions


_TABLE: Final = (
    Stage(
        "pinned_repos", Kind.REPOSITORY, "repos", "sources", frozenset({"git"}),
        "Bare git objects of one pinned commit and the list of its files, with licences.",
        figures=("source_files", "headers", "source_bytes"),
        memory=500_000_000, resource="network",
    ),
    Stage(
        "curated_files", Kind.REPOSITORY, "curation", "sources", frozenset({"parquet"}),
        "Tables of the C and C++ files of one commit: licence, copies, quality, secrets, and which files are dropped.",
        ("pinned_repos",),
        (
            "files", "files_kept", "files_dropped", "bytes_dropped", "files_in_clusters", "finds", "finds_replaced",
            "files_with_benchmarks",
        ),
    ),
    Stage(
        "semantic_jsonl", Kind.REPOSITORY, "semantic", "sources", frozenset({"cplusplus", "json"}),
        "Functions and classes that belong together, with what they use: text, roles, structure, origin (libclang).",
        ("pinned_repos", "curated_files"),
        (
            "documents", "calls_resolved_per_cent", "skipped_files", "units_failed", "units", "units_parsed",
            "units_reused", "changed_header", "changed_header_units", "characters", "source_characters", "chunks",
            "symbols", "unlabelled_per_cent", "documents_alone_per_cent", "documents_compiled_per_cent",
        ),
        cores=ELASTIC, resource="parsing",
    ),
    Stage(
        "commits", Kind.REPOSITORY, "commits", "history", frozenset({"git"}),
        "History of a pinned commit within the recipe's bounds: objects, and the commits that the rules leave.",
        figures=("commits_seen", "commits", "changes", "blobs", "blob_bytes", "shallow_commits"),
        resource="network", wanted=_history,
    ),
    Stage(
        "commit_documents", Kind.REPOSITORY, "versions", "history", frozenset({"cplusplus", "json"}),
        "Dataset versions v2 (whole files before and after) and v3 (inline differences) of the listed commits.",
        ("pinned_repos", "curated_files", "semantic_jsonl", "commits"), ("documents", "commits"),
        wanted=_commit_documents, on_workers=_without_benchmarks,
    ),
    Stage(
        "tokenizer", Kind.DATASET, "tokenizer", "tokenizer", frozenset({"huggingface"}),
        "The one tokenizer of the corpus: fixed C++ vocabulary and learned merges, identified by a commit.",
        ("pinned_repos",),
        ("commit", "vocabulary_size", "documents", "tokens", "unique_words", "merges", "round_trip_failures"),
        cores=ELASTIC, resource=_accelerator_of_the_tokenizer,
    ),
    Stage(
        "commit_windows", Kind.REPOSITORY, "windows", "history", frozenset({"cplusplus", "json"}),
        "Dataset version v4: each function that a listed commit modified, with its callers and callees (tree-sitter).",
        ("pinned_repos", "curated_files", "semantic_jsonl", "commits", "tokenizer"),
        ("documents", "commits", "blobs_parsed"),
        resource=_accelerator_of_the_tokenizer, wanted=_commit_windows,
        on_workers=_without_benchmarks,
    ),
    Stage(
        "resolved_windows", Kind.REPOSITORY, "resolved", "history", frozenset({"cplusplus", "json"}),
        "Dataset version v5: each function that a listed commit modified, with its callers, callees, bases and types "
        "(libclang).",
        ("pinned_repos", "curated_files", "semantic_jsonl", "commits", "tokenizer"),
        ("documents", "commits", "units_parsed", "units_reused", "plans"),
        cores=ELASTIC, resource="parsing", wanted=_resolved_windows,
        on_workers=_without_benchmarks, reads_headers=True,
    ),
    Stage(
        "tokenized_parquet", Kind.REPOSITORY, "tokenized", "tokens", frozenset({"parquet"}),
        "Documents of at most their budget of tokens, BOS included, with character spans.",
        ("semantic_jsonl", "tokenizer", "commit_documents", "commit_windows", "resolved_windows"),
        ("documents", "tokens", "text_bytes", "split_documents", "val_documents", "val_tokens"),
        resource=_accelerator_of_the_tokenizer,
    ),
    Stage(
        "v6_enriched", Kind.REPOSITORY, "enriched", "tokens", frozenset({"parquet"}),
        "Token-level structure columns by the first-character rule; chunks and edges in token offsets.",
        ("tokenized_parquet",),
        ("documents", "tokens", "dropped_edges", "chunks", "call_edges", "type_edges"),
        on_workers=_always,
    ),
    Stage(
        "packed_rows", Kind.MIXTURE, "packed", "mixtures", frozenset({"parquet"}),
        "Whole documents of the locked repositories, best-fit packed into rows of T tokens.",
        ("v6_enriched",),
        (
            "documents", "utilisation_ppm", "overflow_documents", "rows", "row_tokens", "tokens", "valid_rows",
            "valid_documents", "valid_tokens",
        ),
        memory=1_500_000_000, on_workers=_always,
    ),
    Stage(
        "megatron_bin_idx", Kind.MIXTURE, "megatron", "mixtures", frozenset({"megatron"}),
        "Megatron .bin/.idx pairs, one sequence per document, and token-aligned structure sidecars.",
        ("packed_rows",),
        ("documents", "tokens", "rows", "valid_documents", "valid_tokens", "vocabulary_size"),
    ),
    Stage(
        "trained_checkpoint", Kind.MIXTURE, "trained", "mixtures", frozenset({"pytorch"}),
        "A GPT trained on those rows; the checkpoint carries tokenizer commit, .bin sha256 and data manifest.",
        ("megatron_bin_idx", "tokenizer"),
        ("parameters", "steps", "tokens", "validation_bits_per_byte", "validation_bytes"),
        cores=lambda recipe: recipe.training.threads * recipe.training.processes, memory=2_000_000_000,
        resource=_accelerator_of_training,
    ),
)  # fmt: skip

STAGES: Final = {stage.name: stage for stage in _TABLE}
"""Every stage by name. Each stage comes after the stages that it reads."""
STAGE_NAMES: Final = tuple(STAGES)
REPOSITORY_STAGES: Final = tuple(name for name, stage in STAGES.items() if stage.kind is Kind.REPOSITORY)
"""The stages that have a partition for each known `NAME@REF`."""
COMPARED: Final = REPOSITORY_STAGES[-1]
"""The stage whose artifacts of two references are compared before a promotion."""
SOURCES: Final = "pinned_repos"
INDEX: Final = "semantic_jsonl"
"""The stage that also reads headers of other repositories, where the recipe names stand-ins."""
TOKENIZER: Final = "tokenizer"
"""The stage whose artifact is pinned in `corpus.lock` once it has passed its checks."""
CHECKPOINT: Final = "trained_checkpoint"
"""The stage whose artifacts are audited."""


def upstream_of(stage: Stage, recipe: Recipe) -> tuple[Stage, ...]:
    """Return the stages that `stage` reads in a corpus of `recipe`."""
    return tuple(STAGES[name] for name in stage.upstream if STAGES[name].wanted(recipe))


def stages_of(recipe: Recipe) -> tuple[Stage, ...]:
    """Return the stages of a corpus of `recipe`, in the order of the table."""
    return tuple(stage for stage in STAGES.values() if stage.wanted(recipe))


def until(last: str, recipe: Recipe) -> tuple[Stage, ...]:
    """Return the stages of a corpus of `recipe` up to and including `last`."""
    end = STAGE_NAMES.index(last) + 1
    return tuple(stage for stage in stages_of(recipe) if STAGE_NAMES.index(stage.name) < end)


@cache
def chain(last: str) -> tuple[str, ...]:
    """Return `last` and all stages that it depends on, directly or not, in the order of the table.

    Stages that only some recipes want are left out. If an artifact depends on one, its manifest says so.
    """
    reached = {last}
    for name in reversed(STAGE_NAMES):
        if name in reached:
            reached.update(STAGES[name].upstream)
    return tuple(name for name in STAGE_NAMES if name in reached and STAGES[name].wanted is _always)
