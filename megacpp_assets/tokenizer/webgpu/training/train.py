"""Training on a GPU: counted words in, the same model as on the CPU out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.specials import FIXED_IDS
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.train import Trained, put_together, require_words
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.webgpu.gpu import Gpu
from megacpp_assets.tokenizer.webgpu.training.merging import MergeOptions, train_merges
from megacpp_assets.tokenizer.webgpu.training.symbols import CountedWords


def train_on_gpu(
    counter: Counter, recipe: TokenizerRecipe, gpu: Gpu, report: Callable[[int, int], None] | None = None
) -> Trained:
    """Return the same model as `train.train_model`, with the same `SpecError`."""
    require_words(counter)
    fixed = fixed_vocabulary()
    options = MergeOptions(recipe.vocabulary_size - FIXED_IDS, list(fixed.ids), fixed.words())
    found = train_merges(gpu, counted_words(counter), options, report)
    return put_together(recipe, counter, found.merges, found.largest_count, found.dropped)


def counted_words(counter: Counter) -> CountedWords:
    """Return the words of a native counter."""
    data, lengths, counts = counter.dump()
    return CountedWords(np.frombuffer(data, dtype=np.uint8), lengths.astype(np.int64), counts.astype(np.int64))
