"""Messages between related chunks over calls, types and levels, each from an earlier chunk to a later one.

In the seed's model the mean of a chunk, with its future tokens, reaches each of its tokens. Here a token receives
messages only from chunks that ended before its own chunk, or the loss would see its own targets.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu

from megacpp_assets.loader.chunks import MESSAGES, NEIGHBOURS
from megacpp_assets.training.network.chunks import ChunkInput
from megacpp_assets.training.network.products import linear

_STD: Final = 0.02


class StructureGraphEnricher(nn.Module):
    """(B, T, hidden) -> what is added to it. Means of chunks pass `steps` messages in `width` channels (TreeFFN).

    The last projection starts at zero, so that an untrained enricher adds nothing.
    """

    def __init__(self, hidden: int, width: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        relations = MESSAGES.stop - MESSAGES.start
        self.norm = nn.Parameter(torch.ones(hidden))
        self.down = nn.Parameter(torch.empty(width, hidden))
        self.relation = nn.Parameter(torch.empty(relations, width, width))
        self.mix = nn.Parameter(torch.empty(width, width))
        self.up = nn.Parameter(torch.zeros(hidden, width))
        nn.init.normal_(self.down, std=_STD)
        nn.init.normal_(self.relation, std=1 / math.sqrt(width))
        nn.init.normal_(self.mix, std=1 / math.sqrt(width))

    def forward(self, x: Tensor, chunks: ChunkInput) -> Tensor:
        """Return zero for tokens without a chunk, or whose chunk relates to no earlier one."""
        member = chunks.membership().to(x.dtype)
        pooled = member.transpose(1, 2) @ linear(rms_norm(x, self.norm.shape, self.norm), self.down)
        state = pooled / member.sum(1).clamp(min=1)[..., None]
        sums_of = gathered_sums if x.device.type == "cuda" else ranked_sums
        earlier, message = before(chunks.relations), state
        count = earlier.any(1).sum(-1).clamp(1, NEIGHBOURS)[..., None]
        for _ in range(self.steps):
            sums = torch.einsum("brcw,rwv->bcv", sums_of(earlier, state), self.relation)
            message = linear(silu(sums / count), self.mix)
            state = state + message
        return linear(member @ message, self.up)


def before(relations: Tensor) -> Tensor:
    """Return (B, 6, C, C): whether chunk i receives messages from chunk j, which must come before it.

    Chunks are in the order of their tokens, and each ends at the latest where the next begins.
    """
    return relations[:, MESSAGES].tril(-1)


def ranked_sums(earlier: Tensor, state: Tensor) -> Tensor:
    """Return (B, 6, C, width): for each relation, the sum over each chunk's first neighbours.

    It uses ranks by cumulative sums, and matrix products. Top-k, sort, gather and scatter are slow or missing on a TPU.
    """
    related = earlier.any(1)
    kept = related & (torch.cumsum(related.int(), -1) <= NEIGHBOURS)
    return (earlier & kept[:, None]).to(state.dtype) @ state[:, None]


def gathered_sums(earlier: Tensor, state: Tensor) -> Tensor:
    """Return the same as `ranked_sums` by top-k and gather:

    C x 16 vectors for C chunks instead of six C x C matrices.
    """
    related = earlier.any(1)
    slots = related.shape[-1]
    place = torch.arange(slots, 0, -1, device=state.device)
    found, first = torch.topk(related * place, min(NEIGHBOURS, slots), -1)
    places = first[:, None].expand(-1, earlier.shape[1], -1, -1)
    links = earlier.gather(-1, places) & (found > 0)[:, None]
    batch = torch.arange(len(state), device=state.device)[:, None, None]
    return torch.einsum("brck,bckw->brcw", links.to(state.dtype), state[batch, first])
