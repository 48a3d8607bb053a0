"""A Mamba-2 mixer: each token reads a state that only the earlier tokens of its own document have changed.

The recurrence is computed in chunks (state space duality, Dao and Gu 2024): masked matrix products within a chunk,
decayed sums between chunks. The graph is the same for every batch and has no loop over tokens. The state is zero at the
start of a document (docs/contracts.md): every product between documents is multiplied by exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, log10

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, pad, rms_norm, silu, softplus

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.network.products import linear

CHUNK = 64
"""Tokens of a chunk. If the row length is no multiple of it, a chunk has their greatest common divisor."""
_KERNEL = 4
_EXPANSION = 2
_HEAD_DIM = 64
_FASTEST, _SLOWEST = 1e-1, 1e-3
"""The initial step sizes of the heads are spread between these two, as in the paper."""


@dataclass(frozen=True, slots=True)
class StateSpaceConfig:
    """Every `every`-th block is a Mamba-2 mixer with `state` numbers for each channel; no block if `every` is 0.

    `fast_convolution` uses the library's convolution, which ignores documents: the first three tokens of a document
    depend on the last ones of the previous document.
    """

    every: int = 0
    state: int = 64
    fast_convolution: bool = False

    def __post_init__(self) -> None:
        for name, least in (("every", 0), ("state", 1)):
            if getattr(self, name) < least:
                raise SpecError(f"state space {name}", expected=f"at least {least}", found=getattr(self, name))

    def mixes(self, block: int) -> bool:
        """Return whether the block with this number, from 0, is a Mamba-2 mixer."""
        return self.every > 0 and (block + 1) % self.every == 0


class StateSpace(nn.Module):
    """(B, T, hidden) -> (B, T, hidden)."""

    def __init__(self, config: StateSpaceConfig, hidden: int, std: float, out_std: float) -> None:
        super().__init__()
        inner = _EXPANSION * hidden
        self.head_dim = gcd(inner, _HEAD_DIM)
        heads = inner // self.head_dim
        self.widths = [inner, inner, config.state, config.state, heads]
        self.fast = config.fast_convolution
        mixed = inner + 2 * config.state
        self.norm = nn.Parameter(torch.ones(hidden))
        self.enter = nn.Parameter(torch.empty(sum(self.widths), hidden))
        self.kernel = nn.Parameter(torch.empty(mixed, 1, _KERNEL))
        # Always computed on the CPU: on the meta device torch would load its compiler.
        steps = torch.logspace(log10(_SLOWEST), log10(_FASTEST), heads, device="cpu")
        self.step_bias = nn.Parameter(_inverse_softplus(steps))
        self.log_rate = nn.Parameter(torch.linspace(1, 16, heads, device="cpu").log())
        self.skip = nn.Parameter(torch.ones(heads))
        self.gate_norm = nn.Parameter(torch.ones(inner))
        self.out = nn.Parameter(torch.empty(hidden, inner))
        nn.init.normal_(self.enter, std=std)
        nn.init.uniform_(self.kernel, -(_KERNEL**-0.5), _KERNEL**-0.5)
        nn.init.normal_(self.out, std=out_std)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return what is added to the residual stream `x`. `positions` count from each document's first token."""
        entered = linear(rms_norm(x, self.norm.shape, self.norm), self.enter)
        gate, mixed, steps = torch.split(entered, [self.widths[0], sum(self.widths[1:4]), self.widths[4]], -1)
        values, keys, queries = torch.split(silu(self._convolved(mixed, positions)), self.widths[1:4], -1)
        steps = softplus(steps.float() + self.step_bias)
        values = values.reshape(*values.shape[:2], -1, self.head_dim).float()
        documents = (positions == 0).cumsum(-1)
        read = scan(values * steps[..., None], -steps * self.log_rate.exp(), keys.float(), queries.float(), documents)
        read = (read + values * self.skip[:, None]).flatten(-2).to(gate.dtype)
        return linear(rms_norm(read * silu(gate), self.gate_norm.shape, self.gate_norm), self.out)

    def _convolved(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return the causal convolution of each channel over four tokens."""
        kernel = self.kernel.to(x.dtype)
        if self.fast:
            return conv1d(pad(x.mT, (_KERNEL - 1, 0)), kernel, groups=x.shape[-1]).mT
        # The last weight of a kernel belongs to the current token.
        kept = [torch.where((positions >= back)[..., None], torch.roll(x, back, 1), 0) for back in range(_KERNEL)]
        return torch.stack([part * kernel[:, 0, -1 - back] for back, part in enumerate(kept)]).sum(0)


def scan(values: Tensor, log_decays: Tensor, keys: Tensor, queries: Tensor, documents: Tensor) -> Tensor:
    """Return (B, T, H, P): what each query reads of the state of its document. state = decay * state + key x value.

    `values` are (B, T, H, P), `log_decays` (B, T, H), `keys` and `queries` (B, T, N). `documents` (B, T) are numbers of
    documents, which never fall within a row.
    """
    chunk = gcd(values.shape[1], CHUNK)
    values, log_decays, keys, queries, documents = (
        part.reshape(len(part), -1, chunk, *part.shape[2:]) for part in (values, log_decays, keys, queries, documents)
    )
    same = _causal(documents, documents)
    total = _running(log_decays, same)
    last, end = documents[:, :, -1], total[:, :, -1]
    within = _decays(total, total, same)
    read = torch.einsum("bkin,bkjn,bkijh,bkjhp->bkihp", queries, keys, within, values)
    # The state that a chunk adds to its last document, at the end of the chunk.
    left = _decays(end[:, :, None], total, (last[..., None] == documents)[:, :, None])[:, :, 0]
    states = torch.einsum("bkjn,bkjh,bkjhp->bkhnp", keys, left, values)
    # The state at the start of each chunk: the sum over earlier chunks of the same document, each with its decay.
    ends = _running(end, _causal(last, last))
    before, previous = torch.roll(ends, 1, 1), torch.roll(last, 1, 1)
    carried = _decays(before, ends, _causal(previous, last, -1))
    entering = torch.einsum("bkmh,bmhnp->bkhnp", carried, states)
    reached = torch.where((documents == previous[..., None])[..., None], total.exp(), 0)
    return (read + torch.einsum("bkin,bkih,bkhnp->bkihp", queries, reached, entering)).flatten(1, 2)


def _causal(to: Tensor, since: Tensor, diagonal: int = 0) -> Tensor:
    """Return (…, i, j) bool: whether i and j are in one document, and j <= i, or j < i if `diagonal` is -1."""
    order = torch.ones(to.shape[-1], since.shape[-1], dtype=torch.bool, device=to.device).tril(diagonal)
    return order & (to[..., :, None] == since[..., None, :])


def _running(x: Tensor, same: Tensor) -> Tensor:
    """Return the sums of `x` (…, j, H) up to each place, over its own document.

    A sum over all documents minus the sum before the document would leave rounding errors of other documents. It is a
    matrix product, because a GPU's cumulative sum has no fixed order.
    """
    return torch.einsum("...ij,...jh->...ih", same.to(x.dtype), x)


def _decays(to: Tensor, since: Tensor, same: Tensor) -> Tensor:
    """Return (…, i, j, H): exp(to[i] - since[j]) where `same` is true, else exactly 0."""
    span = to[..., :, None, :] - since[..., None, :, :]
    # Masked before the exponential: a masked value may be large, and its gradient must be 0, not 0 x infinity.
    return span.masked_fill(~same[..., None], -torch.inf).exp()


def _inverse_softplus(values: Tensor) -> Tensor:
    return values + torch.log(-torch.expm1(-values))
