"""The order of instances: one permutation per epoch, of which each host reads its own range (docs/contracts.md).

A record is a pure function of (seed, host, number), so resuming needs only the number.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.loader.grain.package import grain
from megacpp_assets.loader.grain.permutation import mapped_permutation, permutation
from megacpp_assets.loader.grain.refusals import BadArgument, NoSuchWindow


class OlmoIndexSampler:
    """An endless sampler: after the last record of an epoch the next epoch begins, in another order.

    Each of `shard_count` hosts has `total_instances // shard_count` records per epoch. The few remaining instances
    differ in each epoch. `initial_step` counts records of one host, not batches. With `folder`, permutations are files
    that all workers and hosts of a machine share; without it they are in memory. Raises `BadArgument` for invalid
    numbers.
    """

    def __init__(
        self,
        *,
        total_instances: int,
        seed: int,
        shard_index: int = 0,
        shard_count: int = 1,
        shuffle: bool = True,
        initial_step: int = 0,
        folder: Path | None = None,
    ) -> None:
        _require("total_instances", total_instances > 0, "at least 1", total_instances)
        _require("shard_count", shard_count > 0, "at least 1", shard_count)
        _require("shard_index", 0 <= shard_index < shard_count, f"from 0 to {shard_count - 1}", shard_index)
        _require("initial_step", initial_step >= 0, "at least 0", initial_step)
        self._total = total_instances
        self._seed = seed
        self._shard_index = shard_index
        self._shard_count = shard_count
        self._shuffle = shuffle
        self._initial_step = initial_step
        self._folder = folder
        self._epochs: dict[int, NDArray[Any]] = {}
        self._lock = threading.Lock()

    @property
    def num_instances(self) -> int:
        """The number of instances of all hosts."""
        return self._total

    @property
    def num_local_instances_per_epoch(self) -> int:
        """The number of records of this host per epoch."""
        return self._total // self._shard_count

    def shuffled_global_indices(self, *, seed: int, epoch: int) -> NDArray[np.uint64]:
        """Return the order of all instances in an epoch (from 0), shape (total_instances,)."""
        return self._order(seed, epoch).astype(np.uint64)

    def shard_indices(self, *, seed: int, epoch: int) -> NDArray[np.uint64]:
        """Return this host's range of that order."""
        return self._range_of_host(self._order(seed, epoch)).astype(np.uint64)

    def record_keys(self, first: int, count: int) -> NDArray[np.int64]:
        """Return the instances of the records `first` to `first + count - 1`, shape (count,)."""
        if self.num_local_instances_per_epoch == 0:
            raise NoSuchWindow(
                f"shard {self._shard_index} of {self._shard_count}",
                expected="at least one instance",
                found=f"{self._total} instances in all",
                do="use fewer hosts or shorter windows",
            )
        if first < 0:
            raise NoSuchWindow("record", expected="a number from 0", found=first, do="count records from 0")
        records = np.arange(first, first + count, dtype=np.int64) + self._initial_step
        epochs, places = np.divmod(records, self.num_local_instances_per_epoch)
        keys = np.empty(count, np.int64)
        for epoch in np.unique(epochs):
            is_of_epoch = epochs == epoch
            keys[is_of_epoch] = self._epoch(int(epoch))[places[is_of_epoch]]
        return keys

    def __getitem__(self, index: int) -> grain.RecordMetadata:
        """Return Grain's metadata of record `index`.

        Raises `NoSuchWindow` (an `IndexError`) if `index` is negative or this host has no records.
        """
        return grain.RecordMetadata(index=index, record_key=int(self.record_keys(index, 1)[0]))

    def _epoch(self, epoch: int) -> NDArray[Any]:
        """Return this host's order of an epoch.

        Two epochs are cached, because some readers may already be in the next one.
        """
        with self._lock:
            if epoch not in self._epochs:
                self._epochs[epoch] = self._range_of_host(self._order(self._seed, epoch))
                while len(self._epochs) > 2:
                    del self._epochs[next(iter(self._epochs))]
            return self._epochs[epoch]

    def _range_of_host(self, order: NDArray[Any]) -> NDArray[Any]:
        count = self.num_local_instances_per_epoch
        return order[self._shard_index * count : (self._shard_index + 1) * count]

    def _order(self, seed: int, epoch: int) -> NDArray[Any]:
        if not self._shuffle:
            return np.arange(self._total, dtype=np.uint64)
        key = combine_seed_epoch(seed, epoch)
        if self._folder is None:
            return permutation(self._total, key)
        return mapped_permutation(self._folder, self._total, key)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_epochs": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __repr__(self) -> str:
        return (
            f"OlmoIndexSampler(total_instances={self._total}, seed={self._seed}, shard_index={self._shard_index}, "
            f"shard_count={self._shard_count}, shuffle={self._shuffle})"
        )


def combine_seed_epoch(seed: int, epoch: int) -> int:
    """Return a 64-bit hash of seed and epoch."""
    digest = hashlib.sha256(f"olmo-shuffle:{seed}:{epoch}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def _require(what: str, holds: bool, expected: str, found: int) -> None:
    if not holds:
        raise BadArgument(what, expected=expected, found=found, do="correct the argument")
