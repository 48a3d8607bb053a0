"""A small GPT over packed rows: RoPE that restarts with each document, RMSNorm, SwiGLU, tied embedding, no dropout.

Token ids and structure channels go in, a summed loss or logits come out. Nothing crosses a document boundary: attention
is given from outside and every other layer works on one token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear, rms_norm, silu

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.choose import Attend, attention_for
from megacpp_assets.training.network.attention.layout import document_layout
from megacpp_assets.training.network.loss import masked_cross_entropy
from megacpp_assets.training.network.structure import StructureConfig, StructureEmbedding

_INITIAL_STD = 0.02
_MULTIPLE = 64


def padded(size: int) -> int:
    """`size` rounded up to a multiple of 64, as tensor cores and TPUs want it."""
    return -(-size // _MULTIPLE) * _MULTIPLE


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Shape of the model. `vocabulary_size` is the tokenizer's; the table is padded, the logits are not.

    `heads` of queries share `kv_heads` of keys and values; `dtype` is that of the matrix products.
    """

    vocabulary_size: int
    layers: int
    hidden: int
    heads: int
    structure: StructureConfig
    kv_heads: int = 0
    rope_base: float = 10_000.0
    softcap: float = 0.0
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.hidden % (2 * self.heads):
            raise SpecError("hidden", expected=f"a multiple of 2 x {self.heads} heads", found=self.hidden)
        if self.kv_heads and self.heads % self.kv_heads:
            raise SpecError("kv_heads", expected=f"a divisor of {self.heads} heads", found=self.kv_heads)

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.hidden // self.heads

    @property
    def groups(self) -> int:
        """Heads of keys, and of values."""
        return self.kv_heads or self.heads


@dataclass(frozen=True, slots=True)
class ModelInput:
    """A batch on its device: (B, T) int64 ids, targets and positions, bool loss mask, float32 loss weights, which are 0
    where the mask is, channels, and the attention."""

    input_ids: Tensor
    target_ids: Tensor
    loss_mask: Tensor
    loss_weights: Tensor
    positions: Tensor
    structure: Mapping[str, Tensor]
    attend: Attend


def model_input(
    batch: RowBatch,
    device: torch.device,
    context_loss: float = 1.0,
    softcap: float = 0.0,
    *,
    one_graph: bool = False,
) -> ModelInput:
    """Move a loader batch to `device` and prepare its attention, whose scores `softcap` holds within bounds (0: it does
    not), as a compiled model wants it where `one_graph` is set. A token that is no root's weighs `context_loss`."""
    layout = document_layout(batch.doc_ids, batch.valid_token_count)

    def tensor(values: object) -> Tensor:
        return torch.as_tensor(values, device=device)

    return ModelInput(
        input_ids=tensor(batch.input_ids).long(),
        target_ids=tensor(batch.target_ids).long(),
        loss_mask=tensor(batch.loss_mask),
        loss_weights=tensor(loss_weights(batch, context_loss)),
        positions=tensor(layout.positions),
        structure={name: tensor(values).long() for name, values in batch.structure.items()},
        attend=attention_for(batch, layout, device, softcap, one_graph=one_graph),
    )


def loss_weights(batch: RowBatch, context_loss: float) -> NDArray[np.float32]:
    """(B, T) weights of the loss at each position, by the role of the token that is predicted there."""
    roles = np.zeros_like(batch.roles)
    roles[:, :-1] = batch.roles[:, 1:]
    return np.where(roles == ROOT_ROLE, 1, context_loss).astype(np.float32) * batch.loss_mask


class GPT(nn.Module):
    """The model. `forward` gives the summed loss of a batch, `logits` the scores of every token."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(padded(config.vocabulary_size), config.hidden))
        seen = config.structure.components
        self.structure = StructureEmbedding(config.structure, config.hidden) if seen else None
        self.blocks = nn.ModuleList(_Block(config) for _ in range(config.layers))
        self.norm = nn.Parameter(torch.ones(config.hidden))
        nn.init.normal_(self.embedding, std=_INITIAL_STD)

    def forward(self, batch: ModelInput) -> Tensor:
        """Weighed sum over the tokens with loss, in nats: a scalar."""
        dtype = getattr(torch, self.config.dtype)
        with torch.autocast(batch.input_ids.device.type, dtype, enabled=dtype != torch.float32):
            hidden = self.hidden(batch).flatten(0, 1)
        weights = batch.loss_weights.flatten()
        return masked_cross_entropy(hidden.to(dtype), self.output_weight.to(dtype), batch.target_ids.flatten(), weights)

    def logits(self, batch: ModelInput) -> Tensor:
        """(B, T, vocabulary) scores; for tests and small batches, the loss never builds them."""
        return linear(self.hidden(batch), self.output_weight)

    @property
    def output_weight(self) -> Tensor:
        """The tied embedding without its padding rows: (vocabulary, hidden)."""
        return self.embedding[: self.config.vocabulary_size]

    def hidden(self, batch: ModelInput) -> Tensor:
        """(B, T, hidden) states after the last norm."""
        rotation = _rotation(batch.positions, self.config.head_dim, self.config.rope_base)
        x = nn.functional.embedding(batch.input_ids, self.embedding)
        if self.structure is not None:
            x = x + self.structure(batch.structure, batch.input_ids)
        for block in self.blocks:
            x = block(x, rotation, batch.attend)
        return rms_norm(x, self.norm.shape, self.norm)


class _Block(nn.Module):
    """Pre-norm attention and SwiGLU, each added to the residual stream."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden, inner = config.hidden, padded(8 * config.hidden // 3)
        self.widths = [config.heads * config.head_dim, *(2 * [config.groups * config.head_dim])]
        self.head_dim = config.head_dim
        self.attention_norm = nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Parameter(torch.empty(sum(self.widths), hidden))
        self.attention_out = nn.Parameter(torch.empty(hidden, hidden))
        self.mlp_norm = nn.Parameter(torch.ones(hidden))
        self.gate_up = nn.Parameter(torch.empty(2 * inner, hidden))
        self.down = nn.Parameter(torch.empty(hidden, inner))
        # The residual stream grows with depth; its writers start smaller in proportion.
        residual_std = _INITIAL_STD / (2 * config.layers) ** 0.5
        for weight in (self.qkv, self.gate_up):
            nn.init.normal_(weight, std=_INITIAL_STD)
        for weight in (self.attention_out, self.down):
            nn.init.normal_(weight, std=residual_std)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        projected = linear(rms_norm(x, self.attention_norm.shape, self.attention_norm), self.qkv)
        query, key, value = (
            part.view(*part.shape[:2], -1, self.head_dim) for part in torch.split(projected, self.widths, -1)
        )
        mixed = attend(_rotate(query, rotation), _rotate(key, rotation), value)
        x = x + linear(mixed.flatten(2), self.attention_out)
        gate, up = linear(rms_norm(x, self.mlp_norm.shape, self.mlp_norm), self.gate_up).chunk(2, -1)
        return x + linear(silu(gate) * up, self.down)


def _rotation(positions: Tensor, head_dim: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines of RoPE, each (B, T, 1, head_dim / 2)."""
    exponent = torch.arange(0, head_dim, 2, device=positions.device, dtype=torch.float32) / head_dim
    angles = positions[..., None, None].float() * base**-exponent
    return angles.cos(), angles.sin()


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Turn each pair (x[i], x[i + head_dim / 2]) by its angle."""
    cos, sin = (part.to(x.dtype) for part in rotation)
    left, right = x.chunk(2, -1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)
