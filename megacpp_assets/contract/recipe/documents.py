"""From repositories to documents, tokens and mixtures: the sections of a recipe that decide the corpus."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.contract.recipe.key import key, require_allowed, table
from megacpp_assets.contract.recipe.ranges import ANY_WHOLE, above, at_least, between, zero_or
from megacpp_assets.contract.tokens.specials import FIXED_IDS, VOCABULARY_SIZE

WHITESPACE_RECIPES: Final = ("operators_carry_spaces", "strict_runs", "leading_space", "general")
"""The tables of tokenizer/whitespace.toml."""

BY_CATALOGUE = "by_catalogue"
DUPLICATES = (BY_CATALOGUE, "ignore", "report", "drop_exact", "drop_near")
POLICIES = ("manual", "when_checked")
STRATEGIES = ("clustered", "file", "per_chunk")
NEAR_COPY = 0.7


@dataclass(frozen=True, slots=True)
class SourcesRecipe:
    """Limits of `pinned_repos` on one repository with its submodules. They do not change any byte."""

    entries: int = key(
        2_000_000,
        "Largest number of entries in the git trees of a repository with its submodules.",
        allowed=at_least(1),
        unit="entries",
    )
    path_bytes: int = key(4096, "Longest path.", allowed=at_least(1), unit="bytes")
    path_depth: int = key(
        256, "Largest number of levels of a path, the file's name included.", allowed=at_least(1), unit="levels"
    )
    blob_bytes: int = key(1 << 30, "Largest file.", allowed=at_least(1), unit="bytes")
    total_bytes: int = key(
        64 << 30,
        "Limit of the size of all files together. The same limit holds for each file that git writes.",
        allowed=at_least(1),
        unit="bytes",
    )
    submodules: int = key(1000, "Largest number of submodules of a repository.", allowed=at_least(1), unit="submodules")
    memory_bytes: int = key(8 << 30, "Address space that each process may have.", allowed=at_least(1), unit="bytes")
    cpu_seconds: int = key(3600, "CPU time that each process may use.", allowed=at_least(1), unit="seconds")
    wall_seconds: int = key(4 * 3600, "Elapsed time that the stage may take.", allowed=at_least(1), unit="seconds")

    def __post_init__(self) -> None:
        require_allowed(self, "sources")


@dataclass(frozen=True, slots=True)
class SemanticRecipe:
    """Which code enters a document, and what the parser may cost."""

    strategy: str = key(
        "clustered",
        'Which roots share a document: none ("per_chunk"), the roots of a file ("file"), or roots that use each '
        'other ("clustered").',
        allowed=STRATEGIES,
    )
    dependency_depth: int = key(
        5,
        "A document shows declarations of used code up to this distance from its roots, over calls and types.",
        allowed=at_least(0),
        unit="edges",
    )
    body_depth: int = key(
        1,
        "A document shows bodies of used code up to this distance from its roots.",
        allowed=at_least(0),
        unit="edges",
    )
    replication: float = key(
        2.0,
        "Limit of the text of all documents of a repository, as a multiple of the text of their roots. The context "
        "with the fewest uses per character is left out first. 0 sets no limit.",
        allowed=zero_or(1, 100),
    )
    callers: bool = key(False, "Add the direct callers of a root to its document.", allowed="true or false")
    vendored: tuple[str, ...] = key(
        (
            "third_party",
            "thirdparty",
            "3rdparty",
            "third-party",
            "3rd-party",
            "3rd_party",
            "vendor",
            "vendored",
            "vendors",
            "external",
            "externals",
            "extern",
            "deps",
            "bundled",
            "gtest gtest-* gtest_* googletest googletest-* gmock gmock-* gmock_* googlemock",
            "doctest doctest.h doctest.hpp",
            "catch catch2 catch.hpp catch_amalgamated.*",
            "decnumber",
            "sqlite3.c sqlite3.h",
            "miniz miniz.c miniz.h",
            "stb stb_*.h",
        ),
        "Names of folders and files that are copies of other projects. Folders with a version in their name, or with "
        "their own licence, count as copies too. Their code may be context, but is no root. Put all names of one "
        "project into one string. An empty list turns this off.",
        allowed="texts of shell patterns, separated by spaces",
    )
    small_share: float = key(
        0.18,
        'With the strategy "clustered": share of the text that goes into small documents. A small document has at most '
        "a quarter of the budget; it fills a gap in a row.",
        allowed=between(0, 1),
    )
    chars_per_token: float = key(
        0.0,
        "Assumed length of a token while documents are assembled. 0 estimates the tokens of each document from the "
        "repository's words and the size of the vocabulary.",
        allowed=zero_or(1, 16),
        unit="characters",
    )
    file_bytes: int = key(4_000_000, "Largest file that is indexed.", allowed=at_least(0), unit="bytes")
    parsed_documents: int = key(
        20,
        "Number of documents that are parsed alone for the coverage report. A hash of the ids chooses them.",
        allowed=at_least(0),
        unit="documents",
    )
    configure: bool = key(
        False, "Run the tree's own cmake in a sandbox where the tree has no compile database.", allowed="true or false"
    )
    file_cpu_seconds: int = key(
        120,
        "CPU time that a file may use in all attempts together. A file that needs more is skipped and recorded.",
        allowed=at_least(4),
        unit="seconds",
    )
    repository_cpu_seconds: int = key(
        3600,
        "CPU time that all files of a repository may use, plus unit_cpu_seconds for each file.",
        allowed=at_least(1),
        unit="seconds",
    )
    unit_cpu_seconds: int = key(
        10, "CPU time that each file adds to the budget of its repository.", allowed=at_least(0), unit="seconds"
    )
    wall_per_cpu: int = key(10, "Elapsed time allowed for each second of CPU time.", allowed=at_least(1))
    failed_files_per_cent: float = key(
        5.0,
        "Share of failed files above which the run stops. One failed file never stops it, unless it is the only file.",
        allowed=between(0, 100),
        unit="percent",
    )
    left_out_per_cent: float = key(
        0.5,
        "A document that breaks a rule is left out, for example if its text differs from the commit. The run stops if "
        "more than this share of the roots, or of their bytes, is left out.",
        allowed=between(0, 100),
        unit="percent",
    )

    def __post_init__(self) -> None:
        require_allowed(self, "semantic")


@dataclass(frozen=True, slots=True)
class HoldoutRecipe:
    """Which files are used for validation, and which definitions therefore do not train."""

    share: float = key(
        0.05,
        "Share of each repository's files used for validation, chosen by a hash of repository, path and salt.",
        allowed=between(0, 1),
    )
    repositories: tuple[str, ...] = key(
        (), "Repositories used for validation as a whole.", allowed="repositories of this recipe"
    )
    salt: str = key("", "Text that is hashed too. Another salt chooses other files.", allowed="any text")
    near_copy: float = key(
        NEAR_COPY,
        "A definition does not train if it is a near-duplicate of a held-out definition: if the two have at least "
        "this part of the shorter one's token 5-grams in common.",
        allowed=between(0.1, 1),
    )

    def __post_init__(self) -> None:
        require_allowed(self, "holdout")


@dataclass(frozen=True, slots=True)
class TokenizerRecipe:
    """The one tokenizer of the dataset. It trains on all C and C++ files, held out and dropped ones too."""

    vocabulary_size: int = key(
        VOCABULARY_SIZE, "Number of ids, the 7,200 fixed ones included.", allowed=at_least(FIXED_IDS), unit="ids"
    )
    whitespace: str = key(
        "operators_carry_spaces",
        "How the splitter treats white space.",
        allowed=WHITESPACE_RECIPES,
    )

    def __post_init__(self) -> None:
        require_allowed(self, "tokenizer")


@dataclass(frozen=True, slots=True)
class MixtureRecipe:
    """The sampling weights of repositories, and what mixtures do with copies."""

    own_weight: float = key(
        4.0,
        "If the catalogue names a specialist for a repository: sampling weight of this repository in the "
        "specialist's mixture.",
        allowed=above(0),
    )
    seed: int = key(42, "Seed of the packing.", allowed=ANY_WHOLE)
    duplicates: str = key(
        BY_CATALOGUE,
        'What to do with a document if an earlier repository has an equal or near-duplicate document. "ignore": '
        'no search. "report": report it. "drop_exact": leave it out if it is equal. "drop_near": leave it out '
        'in both cases. "by_catalogue": "drop_near" if two or more repositories are of the catalogue '
        '"extended", otherwise "report".',
        allowed=DUPLICATES,
    )
    definitions: str = key(
        BY_CATALOGUE,
        "The same for definitions, which are compared without the text around them. A document is left out only if "
        "all its compared definitions are copies and make up most of its roots.",
        allowed=DUPLICATES,
    )
    categories: Mapping[str, float] = table(
        dict,
        "Sampling weight of the repositories of a category; multiplied with the weight of a specialist.",
        allowed="categories of the catalogue, positive numbers",
    )

    def __post_init__(self) -> None:
        require_allowed(self, "mixture")
        for category, weight in self.categories.items():
            if category not in REPOSITORY_CATEGORIES:
                expected = f"one of {', '.join(REPOSITORY_CATEGORIES)}"
                raise SpecError(f"mixture.categories.{category}", expected=expected, found=repr(category))
            require_weight(f"mixture.categories.{category}", weight)


@dataclass(frozen=True, slots=True)
class PromotionRecipe:
    """When mixtures read a newer reference of a repository."""

    policy: str = key(
        "manual", "Who promotes a newer reference: a person, or the next run once all checks pass.", allowed=POLICIES
    )
    least_share: float = key(
        0.5,
        "Fewest documents, tokens and bytes of a new reference, as a share of those of the present one.",
        allowed=between(0, 1),
    )
    most_share: float = key(
        3.0,
        "Limit of the documents, tokens and bytes of a new reference, as a multiple of those of the present one.",
        allowed=at_least(1),
    )
    category_shift: float = key(
        0.15, "Largest change of the share of tokens in any structure category.", allowed=between(0, 1)
    )
    bytes_per_token_shift: float = key(0.15, "Largest relative change of bytes per token.", allowed=at_least(0))
    failed_units: Mapping[str, str] = table(
        dict,
        'Files that may fail to parse: "NAME:PATH", with the reason as value.',
        allowed="repositories of this recipe; a text for each",
    )

    def __post_init__(self) -> None:
        require_allowed(self, "promotion")
        for unit, reason in self.failed_units.items():
            if ":" not in unit or not reason.strip():
                where = f"promotion.failed_units.{unit!r}"
                raise SpecError(where, expected="NAME:PATH and a reason", found=repr(reason))


def require_weight(key: str, weight: float) -> None:
    """Raise `SpecError` about `key` unless `weight` is a positive finite number."""
    if not (math.isfinite(weight) and weight > 0):
        raise SpecError(key, expected="a positive finite number", found=weight)
