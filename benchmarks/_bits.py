"""Bits per byte of roots: how well a model tells the text that documents were made for, document by document."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.loader.rows import PackedRows
from megacpp_assets.training.network.model import GPT
from megacpp_assets.training.validation import nats_of


class BitsPerByte(NamedTuple):
    """What a model paid for some text, in nats, and how many bytes that was."""

    nats: float
    bytes: int

    @property
    def bits_per_byte(self) -> float:
        """Of all of it."""
        return self.nats / math.log(2) / self.bytes


def measured_bits(
    model: GPT, rows: PackedRows, numbers: NDArray[np.int64], group_of: NDArray[np.int64], lengths: NDArray[np.int64]
) -> list[BitsPerByte]:
    """What `model` pays for the roots' tokens in the rows `numbers`, for each group from 0.

    `group_of` has a group for each token of the split, in the order of its file; `lengths` are the bytes of each id.
    """
    nats, sizes = np.zeros(group_of.max() + 1), np.zeros(group_of.max() + 1, dtype=np.int64)
    device = next(model.parameters()).device
    for number in numbers.tolist():
        batch = rows.batch(np.array([number]))
        paid, targets, places = nats_of(model, batch, device)
        roots = batch.roles[0][places] == ROOT_ROLE
        groups = group_of[rows.starts[number] : rows.starts[number + 1]][places[roots]]
        np.add.at(nats, groups, paid[roots])
        np.add.at(sizes, groups, lengths[targets[roots]])
    return [BitsPerByte(float(paid), int(size)) for paid, size in zip(nats, sizes, strict=True)]
