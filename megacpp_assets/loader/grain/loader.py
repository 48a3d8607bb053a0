"""Batches of windows as a `grain.DataLoader`, whose records are whole batches.

Grain deals the records of a sampler to its workers, and batches inside each worker, so that the number of workers
would decide which windows share a batch. Here the sampler alone decides: record n of the DataLoader is batch n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from absl import flags

from megacpp_assets.loader.grain.index import OlmoNpyIndex
from megacpp_assets.loader.grain.package import grain
from megacpp_assets.loader.grain.refusals import BadArgument
from megacpp_assets.loader.grain.sampler import OlmoIndexSampler
from megacpp_assets.loader.grain.source import Element, OlmoNpyDataSource
from megacpp_assets.loader.grain.transforms import NgramFilterTransform, ShiftToInputsTargets

_ENDLESS = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class OlmoBatches(grain.sources.RandomAccessDataSource):  # type: ignore[misc]
    """Batch `[step]` of one host, from 0 without an end: a pure function of its fields."""

    source: OlmoNpyDataSource
    sampler: OlmoIndexSampler
    batch_size: int

    def __len__(self) -> int:
        """More steps than any run takes; Grain asks for a length."""
        return _ENDLESS

    def __getitem__(self, step: int) -> Element:
        return self.source.windows(self.sampler.record_keys(step * self.batch_size, self.batch_size))


class BatchSampler:
    """Batch after batch, without an end."""

    def __getitem__(self, index: int) -> grain.RecordMetadata:
        """Grain's metadata of the batch at `index`."""
        return grain.RecordMetadata(index=index, record_key=index)

    def __repr__(self) -> str:
        return "BatchSampler()"


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
) -> grain.DataLoader:
    """A `grain.DataLoader` of one host's batches of `batch_size` windows, dicts of (B, L) arrays, without an end.

    It resumes exactly by `initial_step`, which counts records of the host (steps times `batch_size`), and by Grain's
    `get_state` and `set_state`. Any number of workers gives the same batches. Workers are processes that import the
    main module anew. `BadArgument` for invalid numbers.
    """
    if batch_size < 1 or grain_worker_count < -1:
        raise BadArgument(
            "batch_size and grain_worker_count",
            expected="at least 1, and -1 (none here) or more",
            found=(batch_size, grain_worker_count),
            do="correct the argument",
        )
    sampler = OlmoIndexSampler(
        total_instances=index.total_instances,
        seed=seed,
        shard_index=shard_index,
        shard_count=shard_count,
        initial_step=initial_step,
        folder=permutation_folder,
    )
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()  # Grain's workers read absl's flags, which only programs built on absl parse
    transforms: list[grain.transforms.Map] = []
    if apply_ngram_filter:
        transforms.append(NgramFilterTransform())
    if shift_to_inputs_targets:
        transforms.append(ShiftToInputsTargets())
    return grain.DataLoader(
        data_source=OlmoBatches(OlmoNpyDataSource(index, path_remap=path_remap), sampler, batch_size),
        sampler=BatchSampler(),
        operations=transforms,
        worker_count=max(grain_worker_count, 0),
        worker_buffer_size=grain_worker_buffer_size,
        # The sampler has given this host its share already; Grain would take every n-th of that once more.
        shard_options=grain.sharding.NoSharding(),
        # Windows are copied out of memory maps: threads that read ahead would cost more than they hide.
        read_options=grain.ReadOptions(num_threads=0, prefetch_buffer_size=0),
    )
