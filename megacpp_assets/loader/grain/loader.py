"""A `grain.DataLoader` of batches of windows, whose records are whole batches.

Grain distributes the sampler's records over workers and batches inside each worker, so the number of workers would
change the batches. Here record n of the DataLoader is batch n, so the sampler alone decides.
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
    """The endless batches of one host. Batch `[step]`, from 0, is a pure function of the fields."""

    source: OlmoNpyDataSource
    sampler: OlmoIndexSampler
    batch_size: int

    def __len__(self) -> int:
        """Return more steps than any run has, because Grain requires a length."""
        return _ENDLESS

    def __getitem__(self, step: int) -> Element:
        return self.source.windows(self.sampler.record_keys(step * self.batch_size, self.batch_size))


class BatchSampler:
    """A sampler that returns the batch numbers 0, 1, 2 and so on, without an end."""

    def __getitem__(self, index: int) -> grain.RecordMetadata:
        """Return Grain's metadata of the batch at `index`."""
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
    """Return an endless `grain.DataLoader` of one host's batches: dicts of (B, L) arrays with B = `batch_size`.

    It resumes exactly, either with `initial_step`, which counts windows of the host (steps times `batch_size`), or with
    Grain's `get_state` and `set_state`. Every number of workers gives the same batches. Workers are processes that
    import the main module again. Raises `BadArgument` for invalid numbers.
    """
    if batch_size < 1 or grain_worker_count < -1:
        raise BadArgument(
            "batch_size and grain_worker_count",
            expected="at least 1, and at least -1 (no workers)",
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
        flags.FLAGS.mark_as_parsed()  # Grain's workers read absl's flags, which only absl programs parse
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
        # The sampler already selected the share of this host. Grain would select every n-th record of it again.
        shard_options=grain.sharding.NoSharding(),
        # Windows are copied from memory maps, so threads that read ahead would cost more time than they save.
        read_options=grain.ReadOptions(num_threads=0, prefetch_buffer_size=0),
    )
