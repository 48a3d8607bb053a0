"""Additive bias of attention by the relations of the chunks of query and key: calls, types, levels
(docs/contracts.md).
"""

from __future__ import annotations

import torch
from torch import nn

from megacpp_assets.loader.chunks import RELATIONS
from megacpp_assets.training.network.chunks import ChunkBias, ChunkInput


class RelationBias(nn.Module):
    """One number per relation and head, the same in all blocks. All start at zero and train from the first step."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(len(RELATIONS), heads))

    def forward(self, chunks: ChunkInput) -> ChunkBias:
        """Return the sum over the relations of each pair of chunks. A pair may have several."""
        return ChunkBias(torch.einsum("brij,rh->bhij", chunks.relations.to(self.table.dtype), self.table), chunks)
