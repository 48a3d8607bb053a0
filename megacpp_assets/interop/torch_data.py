"""Packed rows as torch datasets: one row by number, or an endless stream of batches that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, RowBatch

Rows = Callable[[], PackedRows]
"""Opens the rows. A worker process opens its own memory maps instead of receiving a copy of the arrays."""

STEP = "step"


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """Which rows each step takes: `batch_rows` for each of `ranks` processes, of which this is `rank`.

    With `seed = training.seed` and as many rows a step, it is the order in which our own training reads the rows.
    """

    batch_rows: int
    seed: int = 0
    rank: int = 0
    ranks: int = 1

    def __post_init__(self) -> None:
        if self.batch_rows < 1 or not 0 <= self.rank < self.ranks:
            expected = "batch_rows of at least 1 and a rank from 0 to ranks - 1"
            raise SpecError("order", expected=expected, found=asdict(self), do="correct the argument")

    @property
    def global_rows(self) -> int:
        """Rows of all processes in one step."""
        return self.batch_rows * self.ranks


def row_tensors(batch: RowBatch) -> dict[str, Tensor]:
    """Return the arrays of `batch` as tensors that share its memory, under the names of `RowBatch` and of each channel.

    Token columns are (B, T); `valid_token_count` is (B,). `chunk_slots` (5, B, C) is there with `chunks`, `platforms`
    with `platforms`. `cu_seqlens` is left out, as its length differs between batches.
    """
    names = (c.INPUT_IDS, c.TARGET_IDS, c.LOSS_MASK, c.DOC_IDS, "segment_ids", c.VALID_TOKEN_COUNT, c.ROLES)
    arrays: dict[str, Any] = {name: getattr(batch, name) for name in names}
    arrays |= batch.structure
    arrays |= batch.changes
    # torch has few operations on unsigned integers; hashes of symbols keep their value in 64 bits.
    arrays |= {name: values.astype(np.int64) for name, values in batch.symbols.items()}
    if batch.chunks is not None:
        arrays["chunk_slots"] = batch.chunks.slots
    if batch.platforms is not None:
        arrays["platforms"] = batch.platforms
    return {name: torch.from_numpy(values) for name, values in arrays.items()}


class RowDataset(Dataset[dict[str, Tensor]]):
    """Row i as a dict of tensors of shape (T,), for a `DataLoader` with its own sampler and collation."""

    def __init__(self, open_rows: Rows) -> None:
        self._open, self._rows = open_rows, open_rows()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return self.__getitems__([row])[0]

    def __getitems__(self, rows: Sequence[int]) -> list[dict[str, Tensor]]:
        """Several rows at once, as a `DataLoader` asks for a batch; `IndexError` for a number that no row has."""
        numbers = np.asarray(rows, np.int64)
        if ((numbers < 0) | (numbers >= len(self))).any():
            raise IndexError(f"rows {rows}: the split has rows 0 to {len(self) - 1}")
        tensors = row_tensors(self._rows.batch(numbers))
        slots = tensors.pop("chunk_slots", None)
        samples = [{name: values[place] for name, values in tensors.items()} for place in range(len(numbers))]
        if slots is not None:
            for place, sample in enumerate(samples):
                sample["chunk_slots"] = slots[:, place]
        return samples

    def __getstate__(self) -> Rows:
        return self._open

    def __setstate__(self, open_rows: Rows) -> None:
        self.__init__(open_rows)  # type: ignore[misc]


class RowStream(IterableDataset[dict[str, Tensor]]):
    """Batches of `ReadOrder.batch_rows` rows without end; use it with `DataLoader(stream, batch_size=None)`.

    The batch of a step depends on the seed and the step alone. Worker w of W gives every W-th batch from the w-th, so
    a `DataLoader` returns the same batches in the same order with any number of workers.
    """

    def __init__(self, open_rows: Rows, order: ReadOrder) -> None:
        self._open, self._rows, self.order = open_rows, open_rows(), order
        self._step = 0
        if not len(self._rows):
            do = "choose another split or phase"
            raise SpecError("rows of the stream", expected="at least one row", found="an empty split", do=do)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        worker = get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        mine = slice(self.order.rank * self.order.batch_rows, (self.order.rank + 1) * self.order.batch_rows)
        while True:
            step = self._step + number
            self._step += workers
            chosen = rows_of_step(len(self._rows), self.order.global_rows, seed=self.order.seed, step=step)
            yield row_tensors(self._rows.batch(chosen[mine]))

    def state_dict(self) -> dict[str, int]:
        """Return where the stream stands: the next `step`, and what decides the order.

        In the main process of a `DataLoader` with workers the step does not advance: set `step` to the number of
        batches that you have trained on, or use torchdata's `StatefulDataLoader`.
        """
        return {STEP: self._step, **self._decides()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Resume at `state`. Raises `SpecError` if the rows, the seed or the rows of a step are others than then, or
        if the step is no number of batches."""
        expected = {name: state.get(name) for name in self._decides()}
        if expected != self._decides():
            do = "open the same data with the same order, or start anew"
            raise SpecError("state of the stream", expected=expected, found=self._decides(), do=do)
        step = state.get(STEP)
        if not isinstance(step, Integral) or step < 0:
            what, do = "step of the stream's state", "set it to the number of batches that you have trained on"
            raise SpecError(what, expected="a whole number of at least 0", found=repr(step), do=do)
        self._step = int(step)

    def _decides(self) -> dict[str, int]:
        return {"rows": len(self._rows), "seed": self.order.seed, "global_rows": self.order.global_rows}

    def __getstate__(self) -> tuple[Rows, ReadOrder, int]:
        return self._open, self.order, self._step

    def __setstate__(self, state: tuple[Rows, ReadOrder, int]) -> None:
        self.__init__(*state[:2])  # type: ignore[misc]
        self._step = state[2]
