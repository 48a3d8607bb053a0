"""Selects the tokenizer of a corpus: pins a registered one, compares two."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import TokenizerPin
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.enriched.totals import CATEGORIES
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.root.layout import enriched_path, parquet_path
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE
from megacpp_assets.tokenizer.contents import committed_pin, committed_recipe
from megacpp_assets.tokenizer.registry import read_committed, registered_commits


@dataclass(frozen=True, slots=True)
class VocabularyDiff:
    """The differences of two tokenizers: ids and ranks of merges that differ or that only one has, strings that only
    one has, and both recipes.
    """

    changed_ids: int
    changed_merges: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    recipes: tuple[TokenizerRecipe, TokenizerRecipe]


def registered_pin(corpus: Corpus, commit: str) -> TokenizerPin:
    """Return the pin of a commit of the registry, read from that commit.

    `SpecError` if the registry lacks the commit, or if it was made for another dataset or recipe.
    """
    root, full = corpus.root, registered_commit(corpus.root, commit)
    dataset, recipe = committed_recipe(root, full)
    if (dataset, recipe) != (corpus.dataset, corpus.recipe.tokenizer):
        raise SpecError(
            f"tokenizer commit {full}",
            expected=f"one of dataset {corpus.dataset}, {corpus.recipe.tokenizer}",
            found=f"dataset {dataset}, {recipe}",
            do="pin one of this dataset and recipe, or megacpp tokenizer train",
        )
    return committed_pin(root, full)


def categories_under(corpus: Corpus, tokenizer: Artifact) -> dict[str, Mapping[str, Mapping[str, int]]]:
    """Return bytes and tokens by category, for each repository of the corpus whose documents `tokenizer` encoded."""
    found = {}
    for repo in corpus.repo_refs:
        enriched = find_artifact(corpus.root, enriched_path(corpus.dataset, repo))
        tokens = find_artifact(corpus.root, parquet_path(corpus.dataset, repo))
        if enriched and tokens and _made_from(enriched, tokens) and _made_from(tokens, tokenizer):
            found[repo.key] = enriched.manifest.stats.get(CATEGORIES, {})
    return found


def _made_from(artifact: Artifact, source: Artifact) -> bool:
    return source.manifest.sha256 in {entry.manifest_sha256 for entry in artifact.manifest.inputs}


def registered_commit(root: Path, commit: str) -> str:
    """Return the only commit of the registry that starts with `commit`; otherwise `SpecError` with the known ones."""
    commits = registered_commits(root)
    matches = [known for known in commits if known.startswith(commit)] if commit else []
    if len(matches) != 1:
        listed = ", ".join(known[:12] for known in commits) or "none"
        raise SpecError(
            f"tokenizer commit {commit!r}",
            expected=f"one of the registry's: {listed}",
            found=f"{len(matches)} that begin so",
            do="give the first digits of one; megacpp run registers the first tokenizer",
        )
    return matches[0]


def diff_vocabularies(root: Path, first: str, second: str) -> VocabularyDiff:
    """Compare vocabularies, merges and recipes of two commits of the registry."""
    commits = [registered_commit(root, commit) for commit in (first, second)]
    one, two = (json.loads(read_committed(root, commit, TOKENIZER_FILE))["model"] for commit in commits)
    of_first, of_second = (committed_recipe(root, commit)[1] for commit in commits)
    return VocabularyDiff(
        changed_ids=_differing(*({index: text for text, index in model["vocab"].items()} for model in (one, two))),
        changed_merges=_differing(*(dict(enumerate(map(tuple, model["merges"]))) for model in (one, two))),
        only_first=tuple(sorted(one["vocab"].keys() - two["vocab"].keys())),
        only_second=tuple(sorted(two["vocab"].keys() - one["vocab"].keys())),
        recipes=(of_first, of_second),
    )


def _differing(one: Mapping[int, object], two: Mapping[int, object]) -> int:
    """Return the keys of `one` whose value in `other` differs or is missing."""
    return sum(one.get(key) != two.get(key) for key in one.keys() | two.keys())
