"""Training on the device: the words are counted and merged there, the model is put together as on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.specials import FIXED_IDS
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.gpu.count import count_words
from megacpp_assets.tokenizer.gpu.merge import MergeOptions, train_merges
from megacpp_assets.tokenizer.gpu.split import Splitter
from megacpp_assets.tokenizer.gpu.words import Words
from megacpp_assets.tokenizer.train import Trained, new_counter, put_together, require_words
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

GRAPH_STEPS = 128
INTERPRETED_STEPS = 4
"""Merges between two looks at the device; few keep the tables small, which the interpreter walks one program a time."""


def count_on(device: torch.device, texts: Iterable[bytes], recipe: TokenizerRecipe) -> Counter:
    """What `train.count_words` gives for the same texts and recipe."""
    whitespace = whitespace_recipe(recipe.whitespace)
    splitter = Splitter(whitespace, fixed_vocabulary().guards(whitespace), device)
    words = count_words(texts, splitter, device)
    counter = new_counter(recipe)
    data = words.cells.to(torch.uint8).cpu().numpy().tobytes()
    counter.add_words(data, words.lengths.cpu().numpy().astype(np.uint32), words.counts.cpu().numpy())
    return counter


def train_on(
    device: torch.device,
    counter: Counter,
    recipe: TokenizerRecipe,
    report: Callable[[int, int], None] | None = None,
) -> Trained:
    """What `train.train_model` gives for the same words and recipe; `SpecError` as there."""
    require_words(counter)
    fixed = fixed_vocabulary()
    words = words_of(counter, device)
    steps = GRAPH_STEPS if device.type == "cuda" else INTERPRETED_STEPS
    options = MergeOptions(recipe.vocabulary_size - FIXED_IDS, list(fixed.ids), fixed.words(), steps)
    found = train_merges(words, options, report)
    return put_together(recipe, counter, found.merges, found.largest_count, found.dropped)


def words_of(counter: Counter, device: torch.device) -> Words:
    """The counter's words on the device."""
    data, sizes, times = counter.dump()
    lengths, counts = (torch.from_numpy(array.astype(np.int64)).to(device) for array in (sizes, times))
    cells = torch.from_numpy(np.frombuffer(data, np.uint8).astype(np.int16)).to(device)
    return Words(cells, lengths.cumsum(0) - lengths, lengths, counts)
