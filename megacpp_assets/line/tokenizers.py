"""Choosing a corpus's tokenizer: pinning a registered one, comparing two."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.corpus_lock import TokenizerPin
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.line.corpus import Corpus
from megacpp_assets.storage.lock_file import update_lock
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE
from megacpp_assets.tokenizer.registry import read_committed, registered_commits
from megacpp_assets.tokenizer.stage import CORPUS_FILE


@dataclass(frozen=True, slots=True)
class VocabularyDiff:
    """Ids whose strings differ between two tokenizers, and how many strings only one of them has."""

    changed_ids: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def with_tokenizer(corpus: Corpus, pin: TokenizerPin) -> Corpus:
    """The corpus with `pin` as its tokenizer in `corpus.lock`, whatever was pinned before."""
    lock = replace(corpus.lock, tokenizer=pin)
    update_lock(corpus.root, lambda file: file.with_corpus(lock))
    return replace(corpus, lock=lock)


def registered_pin(root: Path, commit: str) -> TokenizerPin:
    """The pin of a registry commit, from what the commit itself holds. `SpecError` for a commit it does not have."""
    commits = registered_commits(root)
    matches = [known for known in commits if known.startswith(commit)] if commit else []
    if len(matches) != 1:
        listed = ", ".join(known[:12] for known in commits) or "none"
        raise SpecError(f"tokenizer commit {commit!r}", expected=f"one of the registry's: {listed}", found=len(matches))
    inputs = json.loads(read_committed(root, matches[0], CORPUS_FILE))["inputs"]
    repos = tuple(entry["path"].rpartition("/")[2] for entry in inputs)
    return TokenizerPin(matches[0], sha256_bytes(read_committed(root, matches[0], TOKENIZER_FILE)), repos)


def diff_vocabularies(root: Path, first: str, second: str) -> VocabularyDiff:
    """Compare the vocabularies of two registry commits."""
    one, two = (_vocabulary(root, registered_pin(root, commit).commit) for commit in (first, second))
    by_id = {index: text for text, index in two.items()}
    changed = sum(by_id.get(index) != text for text, index in one.items())
    return VocabularyDiff(changed, tuple(sorted(one.keys() - two.keys())), tuple(sorted(two.keys() - one.keys())))


def _vocabulary(root: Path, commit: str) -> Mapping[str, int]:
    vocabulary: Mapping[str, int] = json.loads(read_committed(root, commit, TOKENIZER_FILE))["model"]["vocab"]
    return vocabulary
