"""The samples of several prefixes by weight, in the order of megatron-core 0.16.1's BlendedDataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.megatron.reader import open_bin_idx
from megacpp_assets.megatron.samples import Samples, build_sample_index, normalized, split_sequences

_SURPLUS: Final = 0.005
"""How many more samples than its weight asks for each prefix has at least (`mid_level_dataset_surplus`)."""


@dataclass(frozen=True, slots=True)
class BlendedSamples:
    """Sample n is sample `sample_numbers[n]` of prefix `prefix_numbers[n]`."""

    prefixes: tuple[Samples, ...]
    prefix_numbers: NDArray[np.int16]
    sample_numbers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.prefix_numbers)

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        """T + 1 ids. Raises IndexError beyond the last."""
        chosen: Samples = self.prefixes[int(self.prefix_numbers[number])]
        return chosen[int(self.sample_numbers[number])]


def open_blend(
    blend: Sequence[tuple[float, Path]],
    *,
    row_tokens: int,
    samples: int,
    seed: int,
    split: str,
    part: int = 0,
    multimodal: bool = False,
) -> BlendedSamples:
    """The samples of one part of the split (0 train, 1 valid, 2 test) of weighted prefixes.

    `SpecError` for weights that are not above 0, a malformed split, a prefix that is too small for it or holds floats;
    `IndexCorrupt` for a broken pair.
    """
    weights = [weight for weight, _ in blend]
    if not weights or not all(0 < weight < math.inf for weight in weights):
        raise SpecError("blend", expected="weights above 0", found=weights, do="give each prefix a weight, as in 1.0")
    weights = normalized(weights)
    wanted = [math.ceil(samples * weight) for weight in weights]
    opened = []
    for count, (_, prefix) in zip(wanted, blend, strict=True):
        pair = open_bin_idx(prefix, multimodal=multimodal)
        if not pair.header.holds_token_ids:
            do = "leave it out of the blend"
            raise SpecError(f"{prefix.name}", expected="token ids", found=pair.header.dtype.name, do=do)
        index = build_sample_index(
            np.asarray(pair.lengths),
            split_sequences(pair.sequences, split)[part],
            row_tokens=row_tokens,
            samples=math.ceil(count * (1 + _SURPLUS)),
            seed=seed,
        )
        opened.append(Samples(pair, index))
    # Megatron brings them to a sum of 1 twice, and the second time may change a last digit.
    prefixes, numbers = blending_order(normalized(weights), sum(wanted))
    return BlendedSamples(tuple(opened), prefixes, numbers)


def blending_order(weights: Sequence[float], samples: int) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """(prefix, sample of it) of each of `samples` samples: always the prefix that is furthest behind its weight.

    The first of those that are equally far. Weights must add up to 1.
    """
    taken = [0] * len(weights)
    prefixes, numbers = np.empty(samples, np.int16), np.empty(samples, np.int64)
    for sample in range(samples):
        behind = [weight * max(sample, 1) - count for weight, count in zip(weights, taken, strict=True)]
        chosen = behind.index(max(behind))
        prefixes[sample], numbers[sample] = chosen, taken[chosen]
        taken[chosen] += 1
    return prefixes, numbers
