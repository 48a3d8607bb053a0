"""Blends the samples of several prefixes by weight, in the order of megatron-core 0.16.1's BlendedDataset."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.megatron.pair.reader import BinIdx, open_bin_idx, open_counted
from megacpp_assets.megatron.samples.cached import cached_sample_index, describe_samples
from megacpp_assets.megatron.samples.index_cache import BLEND_MAPS, PARTS, IndexCache, Numbers
from megacpp_assets.megatron.samples.samples import (
    SampleRequest,
    Samples,
    build_sample_index,
    normalized,
    split_sequences,
)

_SURPLUS: Final = 0.005
"""Each prefix gets at least this share of samples more than its weight asks for (`mid_level_dataset_surplus`)."""


@dataclass(frozen=True, slots=True)
class BlendedSamples:
    """Sample n is sample `sample_numbers[n]` of prefix `prefix_numbers[n]`."""

    prefixes: tuple[Samples, ...]
    prefix_numbers: Numbers
    sample_numbers: Numbers

    def __len__(self) -> int:
        return len(self.prefix_numbers)

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        """Return the T + 1 token ids of sample `number`. Raises `IndexError` if there is no such sample."""
        chosen: Samples = self.prefixes[int(self.prefix_numbers[number])]
        return chosen[int(self.sample_numbers[number])]


def open_blend(
    blend: Sequence[tuple[float, Path]],
    *,
    row_tokens: int,
    samples: int,
    seed: int,
    split: str | None,
    part: int = 0,
    multimodal: bool = False,
    cache: IndexCache | None = None,
) -> BlendedSamples:
    """Return the samples of one part of the split (0 train, 1 valid, 2 test) of weighted prefixes.

    A `split` of None takes whole prefixes, as Megatron does for `--train-data-path`. With a `cache` the index maps are
    stored there and read again, as Megatron does.

    Raises:
        SpecError: a weight is not above 0, the split is malformed, or a prefix is too small for it or has floats.
        IndexCorrupt: a pair is malformed, or stored maps belong to other data.
    """
    weights = [weight for weight, _ in blend]
    if not weights or not all(0 < weight < math.inf for weight in weights):
        raise SpecError("blend", expected="weights above 0", found=weights, do="give each prefix a weight, as in 1.0")
    weights = normalized(weights)
    wanted = [math.ceil(samples * weight) for weight in weights]
    # Megatron does not blend a single whole prefix.
    is_single = split is None and len(blend) == 1
    surplus = 0.0 if is_single else _SURPLUS
    opened, descriptions = [], []
    for count, (_, prefix) in zip(wanted, blend, strict=True):
        pair = _open_tokens(prefix, multimodal=multimodal, cache=cache)
        request = SampleRequest(row_tokens, math.ceil(count * (1 + surplus)), seed)
        whole = np.arange(pair.sequences, dtype=np.int32)
        sequences = whole if split is None else split_sequences(pair.sequences, split)[part]
        if cache is None:
            lengths = np.asarray(pair.lengths)
            index = build_sample_index(lengths, sequences, row_tokens=row_tokens, samples=request.samples, seed=seed)
        else:
            descriptions.append(describe_samples(cache, prefix, request, split, part))
            index = cached_sample_index(cache, descriptions[-1], pair, sequences, request)
        opened.append(Samples(pair, index))
    # Megatron normalises the weights twice, and the second time may change the last digit. So it is done here too.
    weights = normalized(weights)
    maps = _blending_maps(None if is_single else cache, descriptions, weights, sum(wanted), PARTS[part])
    return BlendedSamples(tuple(opened), *maps)


def _open_tokens(prefix: Path, *, multimodal: bool, cache: IndexCache | None) -> BinIdx:
    if cache is not None and cache.sequences:
        if str(prefix) not in cache.sequences:
            do = "write the counts again with megacpp cache --sequences"
            raise SpecError("sequence counts", expected=f"an entry for {prefix}", found="none", do=do)
        pair = open_counted(prefix, *cache.sequences[str(prefix)])
    else:
        pair = open_bin_idx(prefix, multimodal=multimodal)
    if not pair.header.holds_token_ids:
        do = "leave it out of the blend"
        raise SpecError(f"{prefix.name}", expected="token ids", found=pair.header.dtype.name, do=do)
    return pair


def _blending_maps(
    cache: IndexCache | None, descriptions: Sequence[Mapping[str, Any]], weights: list[float], samples: int, part: str
) -> tuple[Numbers, Numbers]:
    """Return (prefix, sample within the prefix) of each of `samples` samples, from the cache if there is one."""
    if cache is None:
        return blending_order(weights, samples)
    description = {
        "class": "BlendedDataset",
        "datasets": list(descriptions),
        "split": part,
        "weights": weights,
        "size": samples,
    }
    maps = cache.maps(
        description,
        dict.fromkeys(BLEND_MAPS, samples),
        lambda: dict(zip(BLEND_MAPS, blending_order(weights, samples), strict=True)),
    )
    prefixes, numbers = (maps[name] for name in BLEND_MAPS)
    if not cache.defer_maps:
        cache.require_fits(description, len(prefixes) == len(numbers) == samples)
    return prefixes, numbers


def blending_order(weights: Sequence[float], samples: int) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return (prefix, sample within the prefix) of each of `samples` samples, both of shape (samples,).

    Each sample comes from the prefix whose count is furthest below its weight; the first one if several are equal. The
    weights must add up to 1.
    """
    taken = [0] * len(weights)
    prefixes, numbers = np.empty(samples, np.int16), np.empty(samples, np.int64)
    for sample in range(samples):
        behind = [weight * max(sample, 1) - count for weight, count in zip(weights, taken, strict=True)]
        chosen = behind.index(max(behind))
        prefixes[sample], numbers[sample] = chosen, taken[chosen]
        taken[chosen] += 1
    return prefixes, numbers
