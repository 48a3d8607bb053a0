"""Opening a corpus: its pins from `corpus.lock`, its recipe by the hash that the lock names."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.storage.lock_file import read_corpus, read_lock
from megacpp_assets.storage.recipes import kept_recipe


def open_corpus(root: Path, dataset: str = "") -> Corpus:
    """The corpus of `dataset`, or of the lock's active one; `SpecError` if the lock has none."""
    lock = read_corpus(root, dataset or read_lock(root).active)
    return Corpus(root, lock, kept_recipe(root, lock.recipe))
