"""From repositories to documents, tokens and mixtures: the sections of a recipe that decide the corpus."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.contract.specials import FIXED_IDS, VOCABULARY_SIZE

DUPLICATES = ("ignore", "report", "drop_exact", "drop_near")
POLICIES = ("manual", "when_checked")
STRATEGIES = ("clustered", "file", "per_chunk")
NEAR_COPY = 0.7


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
    """Documents and limits of stage 2: what stands in a document, largest file in bytes.

    `strategy` says which roots share a document: each has its own (`per_chunk`), those of a `file`, or those that use
    each other (`clustered`). Around them stand declarations of what they use up to `dependency_depth` edges away, with
    bodies up to `body_depth`; the text of a document is at most `replication` times that of its roots (0: no cap).
    So that rows can be filled, `small_share` of the text of what is clustered stays in documents of at most a quarter
    of the budget, what belongs to others the least; with 0 all grow as they can. Where it is not 0, a short document
    may have some 300 tokens of context, whatever `replication` says.

    A budget is filled as if a token were `chars_per_token` characters: a small vocabulary has shorter ones, and a
    document that is too long after all is split where tokens are counted, its second part without its context.

    So many as `parsed_documents`, drawn by their ids, are parsed by themselves, and the coverage report says which
    share lacks no name of the repository.

    `configure` asks a tree's own cmake, in a sandbox, for the compile database that the tree does not hold.

    A file may take `file_cpu_seconds` of CPU time over all its tries; all files together `repository_cpu_seconds` and
    `unit_cpu_seconds` for each of them, and `wall_per_cpu` times as much by the clock. What is over its budget is
    recorded and left out; over `failed_files_per_cent` of such files, or of others that failed, stop the run.

    A document that breaks a rule is not published; its roots are tried alone, and what breaks a rule even so is left
    out. Over `left_out_per_cent` of the roots, or of their bytes, left out in this way stop the run.
    """

    strategy: str = "clustered"
    dependency_depth: int = 5
    body_depth: int = 1
    replication: float = 1.5
    small_share: float = 0.18
    chars_per_token: float = 4.0
    file_bytes: int = 1_000_000
    parsed_documents: int = 20
    configure: bool = False
    file_cpu_seconds: int = 120
    repository_cpu_seconds: int = 3600
    unit_cpu_seconds: int = 10
    wall_per_cpu: int = 10
    failed_files_per_cent: float = 5.0
    left_out_per_cent: float = 0.5

    def __post_init__(self) -> None:
        least = {"file_cpu_seconds": 4, "repository_cpu_seconds": 1, "unit_cpu_seconds": 0, "wall_per_cpu": 1}
        least |= {"parsed_documents": 0}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise SpecError(f"semantic.{name}", expected=f"at least {bound}", found=getattr(self, name))
        if self.strategy not in STRATEGIES:
            raise SpecError("semantic.strategy", expected=" or ".join(STRATEGIES), found=repr(self.strategy))
        if not (self.replication == 0 or 1 <= self.replication <= 100):
            raise SpecError("semantic.replication", expected="1 to 100, or 0 for no cap", found=self.replication)
        if not 0 <= self.small_share <= 1:
            raise SpecError("semantic.small_share", expected="0 to 1", found=self.small_share)
        if not 1 <= self.chars_per_token <= 16:
            raise SpecError("semantic.chars_per_token", expected="1 to 16", found=self.chars_per_token)
        for name in ("failed_files_per_cent", "left_out_per_cent"):
            if not 0 <= getattr(self, name) <= 100:
                raise SpecError(f"semantic.{name}", expected="0 to 100", found=getattr(self, name))


@dataclass(frozen=True, slots=True)
class HoldoutRecipe:
    """What validates: a `share` of each repository's files, by a hash of repository, path and `salt`, and all files of
    whole `repositories`. Definitions of other files of whose tokens a part of `near_copy` is a held-out definition's,
    in runs, do not train."""

    share: float = 0.05
    repositories: tuple[str, ...] = ()
    salt: str = ""
    near_copy: float = NEAR_COPY

    def __post_init__(self) -> None:
        for name, least in (("share", 0.0), ("near_copy", 0.1)):
            value = getattr(self, name)
            if not least <= value <= 1:
                raise SpecError(f"holdout.{name}", expected=f"{least:g} to 1", found=value)


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
    """Times that a specialist which the catalogue defines takes its own repository; `seed` of the packing.

    `categories` says how often mixtures take the repositories of a category of the catalogue, where that is not once;
    of a repository that a specialist weighs too, the product counts.

    `duplicates` says what becomes of training documents that another repository has too: they are not looked for
    (`ignore`), told in clusters (`report`), and left out as well, if the same (`drop_exact`) or nearly (`drop_near`, by
    `holdout.near_copy`). The first repository by name keeps its own.
    """

    own_weight: float = 4.0
    seed: int = 42
    duplicates: str = "ignore"
    categories: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_weight("mixture.own_weight", self.own_weight)
        for category, weight in self.categories.items():
            if category not in REPOSITORY_CATEGORIES:
                expected = f"one of {', '.join(REPOSITORY_CATEGORIES)}"
                raise SpecError(f"mixture.categories.{category}", expected=expected, found=repr(category))
            require_weight(f"mixture.categories.{category}", weight)
        if self.duplicates not in DUPLICATES:
            raise SpecError("mixture.duplicates", expected=" or ".join(DUPLICATES), found=repr(self.duplicates))


@dataclass(frozen=True, slots=True)
class PromotionRecipe:
    """When mixtures take another reference of a repository: `policy` is `manual` (somebody says so) or `when_checked`
    (by itself, once it is made and nothing speaks against it).

    Against the reference that they read so far it may have `least_share` to `most_share` times the documents, tokens
    and bytes, `category_shift` of its tokens in other categories, and another number of bytes per token by a part of
    `bytes_per_token_shift`. A file that could not be indexed is in `failed_units`, as `NAME:PATH`, with the reason why
    it may be lacking.
    """

    policy: str = "manual"
    least_share: float = 0.5
    most_share: float = 3.0
    category_shift: float = 0.15
    bytes_per_token_shift: float = 0.15
    failed_units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bounds = {"least_share": (0.0, 1.0), "most_share": (1.0, math.inf)}
        bounds |= {"category_shift": (0.0, 1.0), "bytes_per_token_shift": (0.0, math.inf)}
        for name, (least, most) in bounds.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise SpecError(f"promotion.{name}", expected=f"{least:g} to {most:g}", found=value)
        if self.policy not in POLICIES:
            raise SpecError("promotion.policy", expected=" or ".join(POLICIES), found=repr(self.policy))
        for unit, reason in self.failed_units.items():
            if ":" not in unit or not reason.strip():
                where = f"promotion.failed_units.{unit!r}"
                raise SpecError(where, expected="NAME:PATH and a reason", found=repr(reason))


def require_weight(key: str, weight: float) -> None:
    """`SpecError` about `key` unless `weight` is a positive finite number."""
    if not (math.isfinite(weight) and weight > 0):
        raise SpecError(key, expected="a positive finite number", found=weight)
