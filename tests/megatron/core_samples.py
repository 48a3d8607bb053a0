"""megatron-core's own samples of our files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

SEED = 1234


class Tokenizer:
    vocab_size, eod, eos, pad = 131_072, 0, 0, -1
    unique_identifiers = {"class": "Tokenizer"}  # noqa: RUF012


def megatron_samples(
    cache: Path,
    blend: list[tuple[float, Path]],
    weighted: bool,
    tokens: int,
    counts: list[int],
    split: str | None,
    **options: bool,
) -> Any:
    """megatron-core's train, valid and test; without a split, its training on whole prefixes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
        from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
    weights = [weight for weight, _ in blend] if weighted else None
    named = ([str(path) for _, path in blend], weights)
    data = {"blend": named, "split": split} if split else {"blend_per_split": [named, None, None]}
    unused = dict.fromkeys(
        ("reset_position_ids", "reset_attention_mask", "eod_mask_loss", "create_attention_mask"), False
    )
    settings = {"random_seed": SEED, "sequence_length": tokens, "path_to_cache": str(cache), "tokenizer": Tokenizer()}
    config = GPTDatasetConfig(**settings, **data, **unused, **options)
    return BlendedMegatronDatasetBuilder(GPTDataset, counts, lambda: True, config).build()
