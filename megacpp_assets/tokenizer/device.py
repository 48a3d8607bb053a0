"""Chooses the device of training and encoding: the CPU, or a GPU with the same results (MEGACPP_TOKENIZER_DEVICE)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from megacpp_assets.compute.executors.select import worker_count
from megacpp_assets.compute.tokenizer_device import CPU, tokenizer_device
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.encoding import TextEncoder
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import Model
from megacpp_assets.tokenizer.train import Trained, count_words, train_model
from megacpp_assets.tokenizer.trie import LongestMatch, Purpose, TrieTokenizer


def load_encoder(directory: Path) -> TextEncoder:
    """Return the verified tokenizer in `directory` on the chosen device. `EnvironmentLacks` if the device is missing.

    On the CPU it encodes on as many threads as there are workers.
    """
    encoder = Encoder.load(directory, threads=worker_count())
    if tokenizer_device() == CPU:
        return encoder
    from megacpp_assets.tokenizer.webgpu.encoding import GpuEncoder
    from megacpp_assets.tokenizer.webgpu.gpu import shared_gpu

    return GpuEncoder(encoder.model, shared_gpu())


def open_trie(model: Model, purpose: Purpose) -> LongestMatch:
    """Return the longest-match model over the tokens of `model` on the chosen device.

    `EnvironmentLacks` if it is missing.
    """
    if tokenizer_device() == CPU:
        return TrieTokenizer(model, purpose)
    from megacpp_assets.tokenizer.webgpu.gpu import shared_gpu
    from megacpp_assets.tokenizer.webgpu.trie import GpuTrieTokenizer

    return GpuTrieTokenizer(model, purpose, shared_gpu())


def count_texts(texts: Iterable[bytes], recipe: TokenizerRecipe) -> Counter:
    """Count the words of `texts` on the chosen device. `EnvironmentLacks` if the device is missing."""
    if tokenizer_device() == CPU:
        return count_words(recipe, texts, threads=worker_count())
    from megacpp_assets.tokenizer.webgpu.counting import count_on_gpu
    from megacpp_assets.tokenizer.webgpu.gpu import shared_gpu

    return count_on_gpu(texts, recipe, shared_gpu())


def train_counted(
    counter: Counter, recipe: TokenizerRecipe, report: Callable[[int, int], None] | None = None
) -> Trained:
    """Return the model of counted words, merged on the chosen device. `SpecError` if there are no words."""
    if tokenizer_device() == CPU:
        return train_model(counter, recipe, report)
    from megacpp_assets.tokenizer.webgpu.gpu import shared_gpu
    from megacpp_assets.tokenizer.webgpu.training.train import train_on_gpu

    return train_on_gpu(counter, recipe, shared_gpu(), report)
