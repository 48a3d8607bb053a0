"""Document sets: documents of a repository that are made together and share a folder in each artifact.

The semantic documents of a budget are named by that number of tokens, `4096`. The documents of another dataset version
(seed 002) are named by version and budget, `v3_simple_4096`, and in JSONL, before tokens are counted, by the version.
"""

from __future__ import annotations

from typing import Final

DocumentSet = int | str
"""A budget of semantic documents, `VERSION_BUDGET`, or in JSONL `VERSION`."""

COMMIT_VERSIONS: Final = ("v2_simple", "v2_doxygen", "v3_simple", "v3_doxygen")
"""Versions that are made of commits: whole files before and after (v2), inline differences (v3); two header styles."""
WINDOW_STAGES: Final = {"v4": "commit_windows", "v5": "resolved_windows"}
"""Version -> stage that makes it, of windows around the functions that a commit modified: what calls them and what they
call, by names (v4) or as the compiler resolves it (v5).
"""
WINDOW_VERSIONS: Final = tuple(WINDOW_STAGES)
VERSIONS: Final = (*COMMIT_VERSIONS, *WINDOW_VERSIONS)
HISTORY_STAGES: Final = ("commit_documents", *WINDOW_STAGES.values())
"""The stages that make JSONL records of them."""


def versioned(version: str, tokens: int) -> DocumentSet:
    """Return the set of the documents of `version` that have at most so many tokens."""
    return f"{version}_{tokens}"


def named_set(name: str) -> DocumentSet:
    """Return the set of that name, as a manifest or a folder has it."""
    return int(name) if name.isdecimal() else name


def tokens_of(documents: DocumentSet) -> int:
    """Return the budget of a set that has one."""
    return int(str(documents).rpartition("_")[2])


def version_of(documents: DocumentSet) -> str:
    """Return the dataset version of a set; "" for semantic documents."""
    return str(documents).rpartition("_")[0]


def is_windows(documents: DocumentSet) -> bool:
    """Return whether a set, which has a budget, holds windows around modified functions."""
    return version_of(documents) in WINDOW_VERSIONS


def stage_of(documents: DocumentSet) -> str:
    """Return the stage that makes the JSONL records of a set that has a budget."""
    if not version_of(documents):
        return "semantic_jsonl"
    return WINDOW_STAGES.get(version_of(documents), "commit_documents")


def source_set(documents: DocumentSet) -> DocumentSet:
    """Return the set of JSONL records that a set with a budget is tokenized from."""
    version = version_of(documents)
    return version if version in COMMIT_VERSIONS else documents


def order_of(documents: DocumentSet) -> tuple[int, str]:
    """Sorts sets by budget, then semantic documents before versions by name."""
    return tokens_of(documents), version_of(documents)
