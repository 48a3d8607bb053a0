"""The batches of a step by megatron-core's datasets: `GPTDataset` for each prefix, `BlendedDataset` for several.

Sample n of the blend is sample n of the run: megatron-core's index maps define the order, and nothing else is shuffled.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.loader.samples import sample_batch
from megacpp_assets.megatron.samples.blend import open_blend
from megacpp_assets.megatron.samples.index_cache import IndexCache, tokenizer_identifiers
from megacpp_assets.training.processes.ranks import Ranks

INSTALL: Final = "pip install --no-deps megatron-core==0.16.1"
_NO_PADDING: Final = -1
"""Our pairs have no padding, so no token id stands for it."""


@dataclass(frozen=True, slots=True)
class MegatronFiles:
    """Prefixes of .bin/.idx pairs with their weights, their tokenizer, and the folder where index maps are cached.

    One of the ranks that share a `cache` folder builds the maps, and the others read them.
    """

    blend: Sequence[tuple[float, Path]]
    tokenizer: Path
    vocabulary_size: int
    cache: Path


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    """The attributes of a tokenizer that megatron-core reads."""

    vocab_size: int
    unique_identifiers: Mapping[str, str]
    eod: int = BOS_ID
    pad: int = _NO_PADDING


class MegatronBatches:
    """Every world-th sample of the global batch, in `accumulate` batches of equal size."""

    def __init__(self, files: MegatronFiles, row_tokens: int, recipe: TrainingRecipe, ranks: Ranks) -> None:
        """Open the samples of all steps. Every rank must call it.

        Raises:
            EnvironmentLacks: megatron-core is not installed.
            IndexCorrupt: a pair is malformed, or stored maps belong to other data; on every rank.
        """
        require_megatron()
        _store_maps(files, row_tokens, recipe)
        self._samples = _opened(files, row_tokens, recipe)
        self._recipe, self._ranks = recipe, ranks

    def of(self, step: int) -> list[RowBatch]:
        """See `StepBatches`."""
        recipe, ranks = self._recipe, self._ranks
        numbers = np.arange(step * recipe.batch_rows, (step + 1) * recipe.batch_rows)[ranks.rank :: ranks.world]
        parts = np.split(numbers, recipe.accumulate)
        return [sample_batch(np.stack([self._sample(number) for number in part.tolist()])) for part in parts]

    def _sample(self, number: int) -> Any:
        """Return the T + 1 tokens of a sample."""
        sample = self._samples[number]
        return np.append(sample["tokens"].numpy(), sample["labels"][-1:].numpy())


def require_megatron() -> None:
    """`EnvironmentLacks` if megatron-core is not installed. Megatron itself is not loaded."""
    if find_spec("megatron") is None or find_spec("megatron.core") is None:
        expected, found = "megatron-core", "no module megatron.core"
        raise EnvironmentLacks("training.reader megatron", expected=expected, found=found, do=INSTALL)


def _store_maps(files: MegatronFiles, row_tokens: int, recipe: TrainingRecipe) -> None:
    """Build the index maps that megatron-core looks for, or compare stored maps with the pairs.

    megatron-core does not compare them. It also builds maps only on the first rank, although each node needs its own.
    """
    cache = IndexCache(files.cache, tokenizer_identifiers(files.tokenizer))
    samples = recipe.steps * recipe.batch_rows
    open_blend(files.blend, row_tokens=row_tokens, samples=samples, seed=recipe.seed, split=None, cache=cache)


def _opened(files: MegatronFiles, row_tokens: int, recipe: TrainingRecipe) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # megatron-core warns of missing GPU libraries, which reading does not need
        from megatron.core.datasets.blended_megatron_dataset_builder import (  # noqa: PLC0415 - optional
            BlendedMegatronDatasetBuilder,
        )
        from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig  # noqa: PLC0415 - optional
    prefixes = [str(prefix) for _, prefix in files.blend]
    weights = [weight for weight, _ in files.blend]
    config = GPTDatasetConfig(
        random_seed=recipe.seed,
        sequence_length=row_tokens,
        blend_per_split=[(prefixes, weights), None, None],
        path_to_cache=str(files.cache),
        tokenizer=_Tokenizer(files.vocabulary_size, tokenizer_identifiers(files.tokenizer)),
        # `sample_batch` derives positions, masks and losses from BOS tokens, so megatron-core must not.
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=False,
    )
    samples = recipe.steps * recipe.batch_rows
    train, _, _ = BlendedMegatronDatasetBuilder(GPTDataset, [samples, 0, 0], lambda: True, config).build()
    return train
