"""Additive embedding of the n-grams that end at a token, hashed into tables. It adds local spelling at little cost.

In the seed's model an n-gram may reach into the previous document. Here tokens before a document's first one count as
absent.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor, nn

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.network.products import linear

_MULTIPLIER_BITS = 31


@dataclass(frozen=True, slots=True)
class NgramConfig:
    """`heads` tables of about `table_size` vectors of `width` for each of `orders`. 0 heads disable it."""

    heads: int = 0
    orders: tuple[int, ...] = (2, 3)
    table_size: int = 500_000
    width: int = 16

    def __post_init__(self) -> None:
        for name, least in (("heads", 0), ("table_size", 2), ("width", 1)):
            if getattr(self, name) < least:
                raise SpecError(f"n-gram {name}", expected=f"at least {least}", found=getattr(self, name))
        if list(self.orders) != sorted(set(self.orders)) or not self.orders or self.orders[0] < 2:
            raise SpecError("n-gram orders", expected="numbers from 2 up, each once, in order", found=self.orders)

    @property
    def tables(self) -> tuple[tuple[int, int], ...]:
        """(order, vectors) of each table. The numbers of vectors are prime, so that no multiplier shares a factor
        with them.
        """
        order_of = [order for order in self.orders for _ in range(self.heads)]
        return tuple(zip(order_of, _primes(self.table_size, len(order_of)), strict=True))


class NgramEmbedding(nn.Module):
    """(B, T) ids -> (B, T, hidden), which is added to the token embedding.

    It starts at zero but trains from the first step: the projection is zero, the tables are not.
    """

    multipliers: Tensor
    sizes: Tensor
    offsets: Tensor

    def __init__(self, config: NgramConfig, hidden: int) -> None:
        super().__init__()
        vectors = [size for _, size in config.tables]
        first = list(accumulate(vectors, initial=0))[:-1]
        self.reach = max(config.orders)
        self.table = nn.Parameter(torch.empty(sum(vectors), config.width))
        self.up = nn.Parameter(torch.zeros(hidden, len(vectors) * config.width))
        self.register_buffer("multipliers", torch.tensor(multipliers(config, self.reach)), persistent=False)
        self.register_buffer("sizes", torch.tensor(vectors), persistent=False)
        self.register_buffer("offsets", torch.tensor(first), persistent=False)
        nn.init.normal_(self.table, std=config.width**-0.5)

    def forward(self, input_ids: Tensor, positions: Tensor) -> Tensor:
        """Return the embedding. `positions` count from each document's first token."""
        hashed: Tensor = torch.zeros((*input_ids.shape, len(self.sizes)), dtype=torch.int64, device=input_ids.device)
        for back in range(self.reach):
            # Ids are raised by 1, so that 0 is an absent token, whose product is 0.
            token = torch.where(positions >= back, torch.roll(input_ids, back, -1) + 1, 0)
            hashed = hashed ^ token[..., None] * self.multipliers[:, back]
        vectors = nn.functional.embedding(hashed % self.sizes + self.offsets, self.table)
        added: Tensor = linear(vectors.flatten(-2), self.up)
        return added


def multipliers(config: NgramConfig, reach: int) -> list[list[int]]:
    """Return an odd number below 2^31 for each place of a table's n-gram; 0 for places further back."""
    return [
        [_odd(f"{order}.{number}.{back}") if back < order else 0 for back in range(reach)]
        for number, (order, _) in enumerate(config.tables)
    ]


def _odd(name: str) -> int:
    drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return drawn % (1 << _MULTIPLIER_BITS) | 1


def _primes(start: int, count: int) -> list[int]:
    """Return the first `count` primes from `start` on."""
    found: list[int] = []
    number = start
    while len(found) < count:
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            found.append(number)
        number += 1
    return found
