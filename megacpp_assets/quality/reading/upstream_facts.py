"""Facts from upstream artifacts that every document of token parquet and enriched parquet must agree with."""

from __future__ import annotations

from dataclasses import dataclass

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import HISTORY_STAGES, stage_of
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of


@dataclass(frozen=True, slots=True)
class UpstreamFacts:
    """Facts from upstream artifacts that every document must agree with.

    `vocabulary` is the number of token ids. `provenance` maps a column to its only allowed value. `commit` is the
    pinned commit; `commits` are the listed commits, one of which each document of a dataset version must name.
    """

    vocabulary: int
    provenance: dict[str, str]
    commit: str
    commits: tuple[str, ...] = ()

    @staticmethod
    def of(tokens: Artifact, partition: str) -> UpstreamFacts:
        """Return the facts for the token parquet `tokens`. Raises `LineageGap` if one of its inputs is missing."""
        from megacpp_assets.tokenizer.lock import LOCK_FILE, TokenizerLock

        lock = TokenizerLock.from_bytes(input_of(tokens, "tokenizer").file(LOCK_FILE).read_bytes())
        pinned = input_of(input_of(tokens, "semantic_jsonl"), "pinned_repos")
        repo = RepoRef.parse(partition)
        provenance = {c.REPO: repo.name, c.REF: repo.ref}
        commit = str(pinned.manifest.config["commit"])
        return UpstreamFacts(lock.recipe.vocabulary_size, provenance, commit, _listed_commits(tokens))


def _listed_commits(tokens: Artifact) -> tuple[str, ...]:
    """Return the listed commits from which `tokens` has documents; none if it has no dataset version (v2, v3)."""
    from megacpp_assets.contract.sources.commit import COMMITS_LIST, load_commit
    from megacpp_assets.storage.jsonl import json_lines

    made = [stage for documents in budgets_of(tokens) if (stage := stage_of(documents)) in HISTORY_STAGES]
    if not made:
        return ()
    history = input_of(input_of(tokens, made[0]), "commits")
    lines = json_lines(history.file(COMMITS_LIST), history.path)
    return tuple(load_commit(line).commit for line in lines)
