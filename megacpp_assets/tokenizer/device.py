"""Where training and encoding run: on the CPU, or with the same result on a GPU if MEGACPP_TOKENIZER_DEVICE says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from megacpp_assets.compute.select import worker_count
from megacpp_assets.compute.tokenizer_device import CPU, GPU, tokenizer_device
from megacpp_assets.contract.encoding import TextEncoder
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import Trained, count_words, train_model

if TYPE_CHECKING:
    import torch


def load_encoder(directory: Path) -> TextEncoder:
    """The tokenizer in `directory`, verified, on the chosen device. `EnvironmentLacks` if there is none.

    On the CPU it encodes on as many threads as there are workers.
    """
    encoder = Encoder.load(directory, threads=worker_count())
    if (name := tokenizer_device()) in {CPU, GPU}:
        return encoder
    device = _open(name)
    from megacpp_assets.tokenizer.gpu.encode import GpuEncoder

    return GpuEncoder(encoder.model, device)


def count_texts(texts: Iterable[bytes], recipe: TokenizerRecipe) -> Counter:
    """The words of `texts`, counted on the chosen device. `EnvironmentLacks` if there is none."""
    if (name := tokenizer_device()) in {CPU, GPU}:
        return count_words(recipe, texts, threads=worker_count())
    device = _open(name)
    from megacpp_assets.tokenizer.gpu.train import count_on

    return count_on(device, texts, recipe)


def train_counted(
    counter: Counter, recipe: TokenizerRecipe, report: Callable[[int, int], None] | None = None
) -> Trained:
    """The model of counted words, merged on the chosen device; `SpecError` if there are none."""
    if (name := tokenizer_device()) == CPU:
        return train_model(counter, recipe, report)
    if name == GPU:
        from megacpp_assets.tokenizer.webgpu.train import train_on_gpu

        return train_on_gpu(counter, recipe, report)
    device = _open(name)
    from megacpp_assets.tokenizer.gpu.train import train_on

    return train_on(device, counter, recipe, report)


def _open(name: str) -> torch.device:
    """The device, before the kernels are imported: they need what it may lack."""
    from megacpp_assets.tokenizer.gpu.device import open_device

    return open_device(name)
