"""One block of the model: a mixer of tokens (attention or a state) and SwiGLU, each added to the residual stream."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu

from megacpp_assets.training.network.attention.scores import Attend
from megacpp_assets.training.network.chunks import ChunkBias
from megacpp_assets.training.network.products import linear
from megacpp_assets.training.network.state_space import StateSpace, StateSpaceConfig

INITIAL_STD = 0.02
_MULTIPLE = 64

Rotation = tuple[Tensor, Tensor]


class Widths(NamedTuple):
    """Channels of the residual stream, heads of queries, heads of keys and values, and number of blocks."""

    hidden: int
    heads: int
    groups: int
    layers: int

    @property
    def residual_std(self) -> float:
        """The initial deviation of weights that write to the residual stream: smaller the more blocks add to it."""
        return INITIAL_STD / math.sqrt(2 * self.layers)


def padded(size: int) -> int:
    """Return `size` rounded up to a multiple of 64, which tensor cores and TPUs need."""
    return -(-size // _MULTIPLE) * _MULTIPLE


def feed_forward_width(hidden: int) -> int:
    """Return the channels between the two products of a SwiGLU: 8/3 of `hidden`, padded."""
    return padded(8 * hidden // 3)


class Block(nn.Module):
    """A mixer and a SwiGLU, each after a norm and added to the residual stream. `number` is the place in the model,
    from 0.
    """

    def __init__(self, widths: Widths, state_space: StateSpaceConfig, number: int) -> None:
        super().__init__()
        self.attends = not state_space.mixes(number)
        self.mixer = (
            Attention(widths)
            if self.attends
            else StateSpace(state_space, widths.hidden, INITIAL_STD, widths.residual_std)
        )
        self.mlp = SwiGlu(widths)

    def forward(
        self, x: Tensor, turned: Rotation, positions: Tensor, attend: Attend, bias: ChunkBias | None = None
    ) -> Tensor:
        """Return the stream after the block. Only attention uses `bias`."""
        x = x + (self.mixer(x, turned, attend, bias) if self.attends else self.mixer(x, positions))
        after: Tensor = x + self.mlp(x)
        return after


class Attention(nn.Module):
    """Grouped-query attention with RoPE: heads of queries share heads of keys and values in equal groups."""

    def __init__(self, widths: Widths) -> None:
        super().__init__()
        hidden, self.head_dim = widths.hidden, widths.hidden // widths.heads
        self.widths = [hidden, *(2 * [widths.groups * self.head_dim])]
        self.norm = nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Parameter(torch.empty(sum(self.widths), hidden))
        self.out = nn.Parameter(torch.empty(hidden, hidden))
        nn.init.normal_(self.qkv, std=INITIAL_STD)
        nn.init.normal_(self.out, std=widths.residual_std)

    def forward(self, x: Tensor, turned: Rotation, attend: Attend, bias: ChunkBias | None = None) -> Tensor:
        """Return what is added to the residual stream `x`, (B, T, hidden)."""
        projected = linear(rms_norm(x, self.norm.shape, self.norm), self.qkv)
        query, key, value = (
            part.view(*part.shape[:2], -1, self.head_dim) for part in torch.split(projected, self.widths, -1)
        )
        mixed = attend(_rotate(query, turned), _rotate(key, turned), value, bias)
        return linear(mixed.flatten(2), self.out)


class SwiGlu(nn.Module):
    """Transforms each token on its own, through 8/3 times the channels."""

    def __init__(self, widths: Widths) -> None:
        super().__init__()
        hidden, inner = widths.hidden, feed_forward_width(widths.hidden)
        self.norm = nn.Parameter(torch.ones(hidden))
        self.gate_up = nn.Parameter(torch.empty(2 * inner, hidden))
        self.down = nn.Parameter(torch.empty(hidden, inner))
        nn.init.normal_(self.gate_up, std=INITIAL_STD)
        nn.init.normal_(self.down, std=widths.residual_std)

    def forward(self, x: Tensor) -> Tensor:
        """Return what is added to the residual stream `x`."""
        gate, up = linear(rms_norm(x, self.norm.shape, self.norm), self.gate_up).chunk(2, -1)
        return linear(silu(gate) * up, self.down)


def rotation(positions: Tensor, head_dim: int, base: float) -> Rotation:
    """Return cosines and sines of RoPE, each (B, T, 1, head_dim / 2)."""
    exponent = torch.arange(0, head_dim, 2, device=positions.device, dtype=torch.float32) / head_dim
    angles = positions[..., None, None].float() * base**-exponent
    return angles.cos(), angles.sin()


def _rotate(x: Tensor, turned: Rotation) -> Tensor:
    """Rotate each pair (x[i], x[i + head_dim / 2]) by its angle."""
    cos, sin = (part.to(x.dtype) for part in turned)
    left, right = x.chunk(2, -1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)
