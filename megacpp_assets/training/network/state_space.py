"""A Mamba-2 mixer: each token reads a state that every earlier token of its document has changed, and no other's.

The recurrence is computed in chunks, within a chunk as masked products of matrices and between chunks as decayed sums
(state space duality, Dao and Gu 2024): the same graph for every batch, without a loop over tokens. Where a document
begins the state is zero (docs/contracts.md): every product is masked by documents, which multiplies by exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, log10

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, linear, pad, rms_norm, silu, softplus

from megacpp_assets.contract.errors import SpecError

CHUNK = 64
"""Tokens of a chunk, between which a state is carried; fewer where a row is no multiple."""
_KERNEL = 4
_EXPANSION = 2
_HEAD_DIM = 64
_FASTEST, _SLOWEST = 1e-1, 1e-3
"""Steps between which the heads' first step sizes are spread, as in the paper."""


@dataclass(frozen=True, slots=True)
class StateSpaceConfig:
    """Every `every`-th block mixes by a state of `state` numbers a channel; none at 0. A `fast_convolution` is the
    library's: it does not know of documents, and lets up to three tokens of the one before through."""

    every: int = 0
    state: int = 64
    fast_convolution: bool = False

    def __post_init__(self) -> None:
        for name, least in (("every", 0), ("state", 1)):
            if getattr(self, name) < least:
                raise SpecError(f"state space {name}", expected=f"at least {least}", found=getattr(self, name))

    def mixes(self, block: int) -> bool:
        """Whether the block of this number, from 0, is one."""
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
        # Computed on the CPU always: for the meta device torch would load its compiler to do so.
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
        """What is added to the residual stream `x`. `positions` count from each document's first token."""
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
        """Each channel over its last four tokens."""
        kernel = self.kernel.to(x.dtype)
        if self.fast:
            return conv1d(pad(x.mT, (_KERNEL - 1, 0)), kernel, groups=x.shape[-1]).mT
        # The last number of a kernel is the token's own.
        kept = [torch.where((positions >= back)[..., None], torch.roll(x, back, 1), 0) for back in range(_KERNEL)]
        return torch.stack([part * kernel[:, 0, -1 - back] for back, part in enumerate(kept)]).sum(0)


def scan(values: Tensor, log_decays: Tensor, keys: Tensor, queries: Tensor, documents: Tensor) -> Tensor:
    """What each token reads of the states of its document: state = decay * state + key x value, read by its query.

    `values` (B, T, H, P), `log_decays` (B, T, H), `keys` and `queries` (B, T, N), `documents` (B, T) numbers that
    never fall; (B, T, H, P).
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
    # What a chunk leaves behind, of its last document, at its end.
    left = _decays(end[:, :, None], total, (last[..., None] == documents)[:, :, None])[:, :, 0]
    states = torch.einsum("bkjn,bkjh,bkjhp->bkhnp", keys, left, values)
    # What stands in the state before each chunk: all that chunks before it left, of the document that is under way.
    ends = _running(end, _causal(last, last))
    before, under_way = torch.roll(ends, 1, 1), torch.roll(last, 1, 1)
    carried = _decays(before, ends, _causal(under_way, last, -1))
    entering = torch.einsum("bkmh,bmhnp->bkhnp", carried, states)
    reached = torch.where((documents == under_way[..., None])[..., None], total.exp(), 0)
    return (read + torch.einsum("bkin,bkih,bkhnp->bkihp", queries, reached, entering)).flatten(1, 2)


def _causal(to: Tensor, since: Tensor, diagonal: int = 0) -> Tensor:
    """(…, i, j): whether j is not after i, or is before it if `diagonal` is -1, and in the same document."""
    order = torch.ones(to.shape[-1], since.shape[-1], dtype=torch.bool, device=to.device).tril(diagonal)
    return order & (to[..., :, None] == since[..., None, :])


def _running(x: Tensor, same: Tensor) -> Tensor:
    """Sums of `x` (…, j, H) up to each place, of its document alone: what is taken away again leaves its rounding.

    By a product: a GPU's own running sum has no fixed order.
    """
    return torch.einsum("...ij,...jh->...ih", same.to(x.dtype), x)


def _decays(to: Tensor, since: Tensor, same: Tensor) -> Tensor:
    """exp(to[i] - since[j]) where `same`, else exactly 0. (…, i, j, H)."""
    span = to[..., :, None, :] - since[..., None, :, :]
    # Masked before the exponential: what is masked may be large, and its gradient must be 0, not 0 x infinity.
    return span.masked_fill(~same[..., None], -torch.inf).exp()


def _inverse_softplus(values: Tensor) -> Tensor:
    return values + torch.log(-torch.expm1(-values))
