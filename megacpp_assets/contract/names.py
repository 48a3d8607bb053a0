"""Names and numbers shared by all stages: splits, categories, caps (docs/contracts.md)."""

from __future__ import annotations

from typing import Final

TRAIN_SPLIT: Final = "train"
VALID_SPLIT: Final = "valid"
SPLITS: Final = (TRAIN_SPLIT, VALID_SPLIT)
"""The splits of packed rows and Megatron files. Earlier stages name the validation file `val` (docs/contracts.md)."""

BASE_SPECIALIST: Final = "base"
"""The model of the family that takes every document once."""

DOCUMENT_TOKENS: Final = 4096
"""The smallest budget of documents: the most tokens of a document, BOS included."""

STRUCTURE_CATEGORIES: Final = (
    "other",
    "preamble",
    "func_sig",
    "func_body",
    "class_decl",
    "class_member",
    "comment",
    "typedef",
    "namespace",
)
"""Nine structure categories; a category's id is its index (docs/contracts.md)."""

REPOSITORY_CATEGORIES: Final = (
    "os_kernels",
    "compilers_and_runtimes",
    "build_systems",
    "databases",
    "networking_and_web_servers",
    "browsers",
    "graphics_and_game_engines",
    "multimedia",
    "desktop_toolkits",
    "gnome",
    "kde",
    "editors_and_office_suites",
    "ml_and_scientific",
    "crypto",
    "cpp_libraries",
    "embedded_and_rtos",
)
"""The categories of repositories (docs/contracts.md). They are unrelated to the structure categories above."""

CATEGORY_PREFIX: Final = "category:"
"""Prefix of a key with which a specialist weights all repositories of a category: `"category:crypto" = 4`."""

CATEGORY_ID: Final = {name: index for index, name in enumerate(STRUCTURE_CATEGORIES)}

DEF_USE_NONE: Final = 0
DEF_USE_DEF: Final = 1
DEF_USE_USE: Final = 2

AST_NODE_UNKNOWN: Final = 255

ROOT_ROLE: Final = 0
CONTEXT_ROLE: Final = 1
SYNTHETIC_ROLE: Final = 2
ROLE_NAMES: Final = ("root", "context", "synthetic")
"""The names of the roles, by number.

A root character belongs to a definition that the document was made for. A context character belongs to other code of
the repository. A synthetic character is in no file: a joint, the end of a declaration whose body is left out, or a
reopened namespace.
"""
LEFT_OUT: Final = "left out by "
"""Start of the reason in `skipped.parquet` for a definition that a rule kept out of the documents.

The name of the rule, which is that of a check, and the place follow.
"""

UNCHANGED_OP: Final = 0
INSERTED_OP: Final = 1
MODIFIED_OP: Final = 2
CONTEXT_OP: Final = 3
REMOVED_OP: Final = 4
"""What a commit did to the line of a character (docs/contracts.md).

0 nothing; 1 inserted it; 2 put it in place of removed lines; 3 left it unchanged, and it is shown near a change; 4
removed it (4 is an addition of this project).
"""
EDIT_NAMES: Final = ("unchanged", "inserted", "modified", "context", "removed")
"""The names of the edit operations, by number."""
NO_HUNK: Final = -1

DEP_LEVEL_DEFINITION: Final = "scc-max-v1"


def fixed_max_chunks(row_tokens: int) -> int:
    """Return the chunk slots of a row or document of `row_tokens` tokens in all stages: max(128, T // 32)."""
    return max(128, row_tokens // 32)


def documents_at_once(documents: int, budget: int) -> int:
    """Return how many documents of `budget` tokens equal `documents` of the smallest budget in tokens.

    At least 1. It keeps the size of a batch in memory independent of the budget.
    """
    return max(1, min(documents, documents * DOCUMENT_TOKENS // budget))
