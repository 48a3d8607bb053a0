"""Chunks of a batch on its device, as the parts of the model that know of them take them: relation bias and enricher.

Everything has the shape that the row length gives: how many chunks there are and how they relate are values, so that
one graph serves for all batches.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from megacpp_assets.loader.chunks import ChunkBatch, chunk_relation_mask, token_chunk_ids


class ChunkInput(NamedTuple):
    """Chunks of B rows in C slots. `ids` (B, T) int64 is the slot of each token, C where it is in no chunk; `relations`
    (B, R, C, C) bool is `loader.chunks.chunk_relation_mask`, which relates chunks of one document only."""

    ids: Tensor
    relations: Tensor

    def membership(self) -> Tensor:
        """(B, T, C) float32: 1 where the token is of the chunk. By comparison: a one-hot of torch is a scatter."""
        slots = torch.arange(self.relations.shape[-1], device=self.ids.device)
        return (self.ids[..., None] == slots).float()


class ChunkBias(NamedTuple):
    """What attention adds to a score: `values` (B, heads, C, C) by the chunks of query and key; 0 outside of chunks."""

    values: Tensor
    chunks: ChunkInput

    def of_tokens(self) -> Tensor:
        """(B, heads, T, T), by two products: exact, since each sums one value and zeros."""
        member = self.chunks.membership()[:, None]
        return member @ self.values.float() @ member.transpose(-1, -2)


def chunk_input(chunks: ChunkBatch, device: torch.device) -> ChunkInput:
    """The chunks of a loader batch on `device`."""
    ids, valid = token_chunk_ids(chunks)
    ids[~valid] = chunks.starts.shape[1]
    relations = torch.from_numpy(chunk_relation_mask(chunks))
    return ChunkInput(torch.from_numpy(ids).to(device).long(), relations.to(device))
