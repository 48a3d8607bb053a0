"""Training on the device: the words are counted and merged there, the model is put together as on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from megacpp_assets.contract.recipe import TokenizerRecipe
from megacpp_assets.contract.specials import FIXED_IDS
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.gpu.count import count_words
from megacpp_assets.tokenizer.gpu.merge import MergeOptions, train_merges
from megacpp_assets.tokenizer.gpu.split import Splitter
from megacpp_assets.tokenizer.gpu.words import Words
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.train import Trained, put_together, require_words
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

GRAPH_STEPS = 128
INTERPRETED_STEPS = 4
"""Merges between two looks at the device; few keep the tables small, which the interpreter walks one program a time."""


def train_on(
    device: torch.device,
    texts: Iterable[bytes],
    recipe: TokenizerRecipe,
    report: Callable[[int, int], None] | None = None,
) -> Trained:
    """What `train.train` gives for the same texts and recipe; `SpecError` as there."""
    fixed = fixed_vocabulary()
    guards = fixed.guards(whitespace_recipe(recipe.whitespace))
    splitter = Splitter(whitespace_recipe(recipe.whitespace), guards, device)
    words = count_words(texts, splitter, device)
    counter = _native(words, recipe)
    require_words(counter)
    steps = GRAPH_STEPS if device.type == "cuda" else INTERPRETED_STEPS
    options = MergeOptions(recipe.vocabulary_size - FIXED_IDS, list(fixed.ids), fixed.words(), steps)
    found = train_merges(words, options, report)
    return put_together(recipe, counter, found.merges, found.largest_count, found.dropped)


def _native(words: Words, recipe: TokenizerRecipe) -> Counter:
    """The counted words as a native counter, which statistics are made from."""
    whitespace = whitespace_recipe(recipe.whitespace)
    counter = Counter(make_splitter(whitespace, fixed_vocabulary().guards(whitespace)))
    cells = words.cells.to(torch.uint8).cpu().numpy().tobytes()
    for start, length, count in zip(words.starts.tolist(), words.lengths.tolist(), words.counts.tolist(), strict=True):
        counter.add_word(cells[start : start + length], count)
    return counter
