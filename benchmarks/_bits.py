"""Bits per byte of roots: how well a model tells the text that documents were made for, document by document."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy, linear

from megacpp_assets.loader.rows import PackedRows
from megacpp_assets.training.network.model import GPT, model_input

_AT_ONCE = 512
"""Tokens whose scores over the vocabulary are held at a time."""


class Told(NamedTuple):
    """What a model paid for some text, in nats, and how many bytes that was."""

    nats: float
    bytes: int

    @property
    def bits_per_byte(self) -> float:
        """Of all of it."""
        return self.nats / math.log(2) / self.bytes


def told(
    model: GPT, rows: PackedRows, numbers: NDArray[np.int64], group_of: NDArray[np.int64], lengths: NDArray[np.int64]
) -> list[Told]:
    """What `model` pays for the roots' tokens in the rows `numbers`, for each group from 0.

    `group_of` has a group for each token of the split, in the order of its file; `lengths` are the bytes of each id.
    """
    nats, sizes = np.zeros(group_of.max() + 1), np.zeros(group_of.max() + 1, dtype=np.int64)
    device = next(model.parameters()).device
    for number in numbers.tolist():
        batch = rows.batch(np.array([number]))
        given = model_input(batch, device, context_loss=0.0)
        places = torch.nonzero(given.loss_weights[0])[:, 0]
        targets = given.target_ids[0][places]
        losses = _losses(model, model.hidden(given)[0][places], targets).numpy()
        groups = group_of[rows.starts[number] : rows.starts[number + 1]][places.cpu().numpy()]
        np.add.at(nats, groups, losses)
        np.add.at(sizes, groups, lengths[targets.cpu().numpy()])
    return [Told(float(paid), int(size)) for paid, size in zip(nats, sizes, strict=True)]


def _losses(model: GPT, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The loss of each token in nats, float64 on the CPU."""
    pieces: Iterable[tuple[torch.Tensor, torch.Tensor]] = zip(
        hidden.split(_AT_ONCE), targets.split(_AT_ONCE), strict=True
    )
    found = [cross_entropy(linear(h, model.output_weight), t, reduction="none").double().cpu() for h, t in pieces]
    return torch.cat(found) if found else torch.zeros(0, dtype=torch.float64)
