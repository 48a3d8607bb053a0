"""Opens a corpus: its pins from `corpus.lock`, and the recipe whose hash the lock names."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.storage.root.lock_file import read_corpus, read_lock
from megacpp_assets.storage.root.recipes import kept_recipe


def open_corpus(root: Path, dataset: str = "") -> Corpus:
    """Return the corpus of `dataset`, or of the lock's active dataset. `SpecError` if the lock does not have it."""
    lock = read_corpus(root, dataset or read_lock(root).active)
    return Corpus(root, lock, kept_recipe(root, lock.recipe))
