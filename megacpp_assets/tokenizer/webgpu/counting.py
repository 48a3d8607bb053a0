"""Word counts of texts: each slice is split and counted on the device, then added to the native counter."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.train import new_counter
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.webgpu.gpu import Gpu
from megacpp_assets.tokenizer.webgpu.pool import Pool
from megacpp_assets.tokenizer.webgpu.slices import LongPiece, slice_bytes, sliced
from megacpp_assets.tokenizer.webgpu.splitting import Split, Splitter
from megacpp_assets.tokenizer.webgpu.words import WORD_WORDS, distinct_words
from megacpp_assets.tokenizer.whitespace import whitespace_recipe


def count_on_gpu(texts: Iterable[bytes], recipe: TokenizerRecipe, gpu: Gpu, size: int | None = None) -> Counter:
    """Return the same counts as `train.count_words`.

    A slice has `size` bytes, by default as many as the device allows.
    """
    whitespace = whitespace_recipe(recipe.whitespace)
    pool = Pool(gpu)
    splitter = Splitter(gpu, pool, whitespace, fixed_vocabulary().guards(whitespace))
    counter = new_counter(recipe)
    for part in sliced(gpu, splitter, texts, size or slice_bytes(gpu)):
        if isinstance(part, LongPiece):
            counter.add([part.data])
        else:
            _add(gpu, pool, part.split, counter)
    return counter


def _add(gpu: Gpu, pool: Pool, split: Split, counter: Counter) -> None:
    """Add the words of a slice. The host has their bytes, so only places are read from the device."""
    found = distinct_words(gpu, pool, split)
    if found.count == 0:
        return
    rows = gpu.read(found.words, WORD_WORDS * found.count).reshape(-1, WORD_WORDS).astype(np.int64)
    starts, lengths, times = rows[:, 0], rows[:, 1], rows[:, 2]
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    data = split.data[np.arange(len(shift)) + shift].tobytes()
    counter.add_words(data, lengths.astype(np.uint32), times)
