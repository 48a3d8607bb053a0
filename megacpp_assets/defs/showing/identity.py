"""The identity of a materialization as metadata and tags: code, tokenizer, lock and recipe.

The page of a materialization shows its tags. Tags of a run can also be searched in the UI's list of runs.
"""

from __future__ import annotations

from typing import Final

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.defs.showing.paths import DATA_VERSION_TAG
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.chain import tokenizers_of
from megacpp_assets.storage.root.layout import LOCK_FILE

CODE_VERSION_TAG: Final = "dagster/code_version"
"""Dagster's own tag for the stage's code version."""
TOKENIZER_TAG: Final = "megacpp/tokenizer_commit"
LOCK_TAG: Final = "megacpp/lock"
RECIPE_TAG: Final = "megacpp/recipe"
_MOST: Final = 63
"""The most characters that Dagster allows in a tag."""
_DIGITS: Final = 12
"""Digits of a hash in a tag, as on the command line. The metadata have all 64."""


def identity(corpus: Corpus, artifact: Artifact) -> dict[str, str]:
    """Return code version, tokenizer commit, and the hashes of lock and recipe. What does not apply is left out."""
    found = {
        "code_version": artifact.manifest.version,
        "tokenizer_commit": _tokenizer(artifact),
        "lock_sha256": _lock(corpus),
        "recipe_sha256": corpus.lock.recipe,
    }
    return {key: value for key, value in found.items() if value}


def tags_of(artifact: Artifact, facts: dict[str, str]) -> dict[str, str]:
    """Return `identity` as tags of a materialization."""
    version = {CODE_VERSION_TAG: facts["code_version"]} if "code_version" in facts else {}
    lock = {LOCK_TAG: facts["lock_sha256"][:_DIGITS]} if "lock_sha256" in facts else {}
    return {DATA_VERSION_TAG: artifact.manifest.sha256, **version, **lock, **run_tags_of(facts)}


def run_tags_of(facts: dict[str, str]) -> dict[str, str]:
    """Return the parts of `identity` that all steps of a run share, as tags of the run."""
    recipe = {RECIPE_TAG: facts["recipe_sha256"][:_DIGITS]} if "recipe_sha256" in facts else {}
    commit = {TOKENIZER_TAG: facts["tokenizer_commit"]} if "tokenizer_commit" in facts else {}
    return {**recipe, **commit}


def _tokenizer(artifact: Artifact) -> str:
    if artifact.manifest.stage == "tokenizer":
        return str(artifact.manifest.stats.get("commit", ""))
    try:
        commits = {behind.commit for behind in tokenizers_of(artifact)}
    except LineageGap:
        return ""  # the check tokenizer_lineage says which input is gone
    return commits.pop() if len(commits) == 1 else "_".join(sorted(commit[:_DIGITS] for commit in commits))[:_MOST]


def _lock(corpus: Corpus) -> str:
    file = corpus.root / LOCK_FILE
    return sha256_file(file) if file.is_file() else ""
