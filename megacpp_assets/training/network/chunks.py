"""The chunks of a batch on its device, for relation bias and the enricher.

All shapes follow from the row length. The number of chunks and their relations are values, so that one graph serves all
batches.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from megacpp_assets.loader.chunks import ChunkBatch, chunk_relation_mask, token_chunk_ids


class ChunkInput(NamedTuple):
    """The chunks of B rows in C slots.

    `ids` (B, T) int64 is the slot of each token, or C if it is in no chunk. `relations` (B, R, C, C) bool is
    `loader.chunks.chunk_relation_mask`, which relates only chunks of one document.
    """

    ids: Tensor
    relations: Tensor

    def membership(self) -> Tensor:
        """Return (B, T, C) float32: 1 if the token is in the chunk. It compares ids, because torch's one-hot is a
        scatter.
        """
        slots = torch.arange(self.relations.shape[-1], device=self.ids.device)
        return (self.ids[..., None] == slots).float()


class ChunkBias(NamedTuple):
    """The bias that attention adds to scores: `values` (B, heads, C, C) by the chunks of query and key; 0 outside of
    chunks.
    """

    values: Tensor
    chunks: ChunkInput

    def of_tokens(self) -> Tensor:
        """Return (B, heads, T, T), by two matrix products. They are exact, because each sums one value and zeros."""
        member = self.chunks.membership()[:, None]
        return member @ self.values.float() @ member.transpose(-1, -2)


def chunk_input(chunks: ChunkBatch, device: torch.device) -> ChunkInput:
    """Return the chunks of a loader batch on `device`."""
    ids, valid = token_chunk_ids(chunks)
    ids[~valid] = chunks.starts.shape[1]
    relations = torch.from_numpy(chunk_relation_mask(chunks))
    return ChunkInput(torch.from_numpy(ids).to(device).long(), relations.to(device))


def chunk_ids_of_bounds(starts: Tensor, ends: Tensor, row_tokens: int) -> Tensor:
    """Return `ChunkInput.ids` (B, T) for chunks [start, end) in any order, `starts` and `ends` (B, C); slower than
    `token_chunk_ids`.

    This is the seed's fallback for data without chunk ids: sort, search, and a gather that undoes the sort. Empty slots
    sort last. On XLA `training.tpu.chunks.membership` compares instead, because nothing may search there.
    """
    bounds, order = torch.where(ends > starts, starts, row_tokens).sort(dim=-1, stable=True)
    places = torch.arange(row_tokens, device=starts.device).expand(len(starts), -1).contiguous()
    begun = torch.searchsorted(bounds, places.to(bounds.dtype), right=True)
    slots = order.gather(1, (begun - 1).clamp(min=0))
    inside = (begun > 0) & (places < ends.gather(1, slots))
    return torch.where(inside, slots, starts.shape[1])
