"""Batches of windows through Grain: the sampler alone says which, so neither hosts nor workers change them.

Grain's own DataLoader would take every n-th record of a sampler that has already given each host its share, and makes
batches inside each worker; so a batch, not a record, is what Grain is asked for here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.loader.grain.index import OlmoNpyIndex
from megacpp_assets.loader.grain.refusals import BadArgument
from megacpp_assets.loader.grain.sampler import OlmoIndexSampler
from megacpp_assets.loader.grain.source import Element, OlmoNpyDataSource
from megacpp_assets.loader.grain.transforms import NgramFilterTransform, ShiftToInputsTargets


@dataclass(frozen=True)
class OlmoBatches:
    """Batch `[step]` of one host, from 0 without an end: a pure function of its fields. Grain is not needed."""

    source: OlmoNpyDataSource
    sampler: OlmoIndexSampler
    batch_size: int
    transforms: tuple[NgramFilterTransform | ShiftToInputsTargets, ...]

    def __len__(self) -> int:
        """More steps than anyone takes: Grain asks."""
        return sys.maxsize

    def __getitem__(self, step: int) -> Element:
        batch = self.source.windows(self.sampler.record_keys(step * self.batch_size, self.batch_size))
        for transform in self.transforms:
            batch = transform.map(batch)
        return batch


def make_olmo_grain_data_loader(
    index: OlmoNpyIndex,
    *,
    seed: int,
    batch_size: int,
    shard_index: int,
    shard_count: int,
    apply_ngram_filter: bool = True,
    shift_to_inputs_targets: bool = True,
    path_remap: Mapping[str, str] | None = None,
    grain_worker_count: int = 0,
    grain_worker_buffer_size: int = 1,
    initial_step: int = 0,
    permutation_folder: Path | None = None,
) -> Any:
    """A Grain `IterDataset` of one host's batches of `batch_size` windows, dicts of (B, L) arrays, without an end.

    It resumes exactly by `initial_step`, which counts records of the host (steps times `batch_size`), and by Grain's
    `get_state` and `set_state`, with any number of workers. Workers are processes that import the main module anew.
    Raises `EnvironmentLacks` without Grain, `BadArgument` for numbers that cannot be.
    """
    if batch_size < 1 or grain_worker_count < -1:
        raise BadArgument(
            "batch_size and grain_worker_count",
            expected="at least 1, and -1 (none here) or more",
            found=(batch_size, grain_worker_count),
            do="correct the argument",
        )
    transforms: list[NgramFilterTransform | ShiftToInputsTargets] = []
    if apply_ngram_filter:
        transforms.append(NgramFilterTransform())
    if shift_to_inputs_targets:
        transforms.append(ShiftToInputsTargets())
    sampler = OlmoIndexSampler(
        total_instances=index.total_instances,
        seed=seed,
        shard_index=shard_index,
        shard_count=shard_count,
        initial_step=initial_step,
        folder=permutation_folder,
    )
    batches = OlmoBatches(OlmoNpyDataSource(index, path_remap=path_remap), sampler, batch_size, tuple(transforms))
    return _through_grain(batches, max(grain_worker_count, 0), grain_worker_buffer_size)


def _through_grain(batches: OlmoBatches, workers: int, buffered: int) -> Any:
    try:
        import grain
    except ImportError as error:
        do = "pip install 'megacpp-assets[grain]'"
        raise EnvironmentLacks("grain", expected="grain 0.2.18", found="no such package", do=do) from error
    # Windows are copied out of memory maps: threads that read ahead would cost more than they hide.
    reading = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    dataset = grain.MapDataset.source(batches).to_iter_dataset(reading)
    if workers:
        options = grain.multiprocessing.MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=buffered)
        dataset = dataset.mp_prefetch(options)
    return dataset
