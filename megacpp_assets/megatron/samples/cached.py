"""The samples of one prefix through a cache of index maps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.megatron.pair.reader import BinIdx
from megacpp_assets.megatron.samples.index_cache import (
    PARTS,
    SAMPLE_MAPS,
    IndexCache,
    Numbers,
    sample_index_dtype,
    shuffle_index_dtype,
    split_matrix,
)
from megacpp_assets.megatron.samples.samples import (
    SampleIndex,
    SampleRequest,
    build_sample_index,
    plan_epochs,
    sample_starts,
    split_bounds,
)


def describe_samples(
    cache: IndexCache, prefix: Path, request: SampleRequest, split: str | None, part: int
) -> dict[str, Any]:
    """Return the values that Megatron's GPTDataset hashes for the names of its maps, in its order."""
    return {
        "class": "GPTDataset",
        "dataset_path": str(prefix),
        "num_samples": request.samples,
        "index_split": PARTS[part],
        "random_seed": request.seed,
        "sequence_length": request.row_tokens,
        "split": split,
        "split_matrix": None if split is None else split_matrix(split_bounds(split)),
        "tokenizer": dict(cache.tokenizer),
    }


def cached_sample_index(
    cache: IndexCache,
    description: Mapping[str, Any],
    pair: BinIdx,
    sequences: NDArray[np.int32],
    request: SampleRequest,
) -> SampleIndex:
    """Return the index of `request` from `sequences` of `pair`, stored under `description`.

    `IndexCorrupt` for stored maps of other data, unless the cache is loaded fast or deferred; raises as
    `build_sample_index` too.
    """
    lengths = np.asarray(pair.lengths)
    plan = plan_epochs(lengths, sequences, request)

    def build() -> dict[str, NDArray[Any]]:
        index = build_sample_index(
            lengths, sequences, row_tokens=request.row_tokens, samples=request.samples, seed=request.seed
        )
        longest = int(lengths.max())
        places = np.asarray(index.starts).astype(sample_index_dtype(len(index.documents), longest))
        numbers = np.asarray(index.shuffle).astype(shuffle_index_dtype(plan.total))
        return dict(zip(SAMPLE_MAPS, (np.asarray(index.documents), places, numbers), strict=True))

    counts = (plan.epochs * len(sequences), plan.total + 1, plan.total)
    maps = cache.maps(description, dict(zip(SAMPLE_MAPS, counts, strict=True)), build)
    index = SampleIndex(*(maps[name] for name in SAMPLE_MAPS))
    if not (cache.fast_load or cache.defer_maps):
        cache.require_fits(description, _fits(index, counts, lengths, sequences, request.row_tokens))
    return index


def _fits(
    index: SampleIndex,
    counts: tuple[int, int, int],
    lengths: NDArray[np.int32],
    sequences: NDArray[np.int32],
    row_tokens: int,
) -> bool:
    """Return whether the maps have this number of samples of these sequences, cut where the lengths say."""
    documents, starts, shuffle = (_array(each) for each in (index.documents, index.starts, index.shuffle))
    if (len(documents), len(starts), len(shuffle)) != counts or not len(sequences):
        return False
    if not sequences[0] <= documents.min() <= documents.max() <= sequences[-1]:
        return False
    if shuffle.max() >= counts[2]:
        return False
    return bool(np.array_equal(starts, sample_starts(lengths[documents], row_tokens, counts[2])))


def _array(numbers: Numbers) -> NDArray[Any]:
    return np.asarray(numbers)
