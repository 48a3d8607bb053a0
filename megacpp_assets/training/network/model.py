"""A small GPT over packed rows: RoPE that restarts with each document, RMSNorm, SwiGLU, tied embedding, no dropout.

Token ids and structure channels go in, a summed loss or logits come out. Nothing crosses a document boundary: the
caller passes the attention, n-grams and states stop at the boundary, and every other layer works on one token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, rms_norm

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.contract.recipe.training import AUTO
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.choose import attention_for
from megacpp_assets.training.network.attention.layout import document_layout
from megacpp_assets.training.network.attention.scores import Attend
from megacpp_assets.training.network.block import INITIAL_STD, Block, Widths, padded, rotation
from megacpp_assets.training.network.chunks import ChunkInput, chunk_input
from megacpp_assets.training.network.graph import StructureGraphEnricher
from megacpp_assets.training.network.loss import masked_cross_entropy
from megacpp_assets.training.network.ngrams import NgramConfig, NgramEmbedding
from megacpp_assets.training.network.platforms import PlatformEmbedding, PlatformInput
from megacpp_assets.training.network.products import linear
from megacpp_assets.training.network.relation_bias import RelationBias
from megacpp_assets.training.network.state_space import StateSpaceConfig
from megacpp_assets.training.network.structure import StructureConfig, StructureEmbedding

_SCORED_AT_ONCE: Final = 512
"""Tokens whose scores over the vocabulary are in memory at once when losses are measured."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Shape of the model. `vocabulary_size` is the tokenizer's; the embedding table is padded, the logits are not.

    `heads` of queries share `kv_heads` of keys and values. `dtype` is that of the matrix products. A batch must have
    its chunks for `relation_bias` or `tree_steps`, and its platforms for `structure.platform_embed_enabled`.
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
    ngrams: NgramConfig = field(default_factory=NgramConfig)
    state_space: StateSpaceConfig = field(default_factory=StateSpaceConfig)
    relation_bias: bool = False
    tree_steps: int = 0

    def __post_init__(self) -> None:
        if self.hidden % (2 * self.heads):
            raise SpecError("hidden", expected=f"a multiple of 2 x {self.heads} heads", found=self.hidden)
        if self.kv_heads and self.heads % self.kv_heads:
            raise SpecError("kv_heads", expected=f"a divisor of {self.heads} heads", found=self.kv_heads)

    @property
    def head_dim(self) -> int:
        """The width of one head."""
        return self.hidden // self.heads

    @property
    def groups(self) -> int:
        """The number of heads of keys and of values."""
        return self.kv_heads or self.heads


@dataclass(frozen=True, slots=True)
class ModelInput:
    """A batch on its device.

    `input_ids`, `target_ids`, `positions` and each channel of `structure` are (B, T) int64. `loss_mask` is (B, T) bool.
    `loss_weights` is (B, T) float32, with 0 where the mask is false. A batch may lack `chunks` and
    `platforms`.
    """

    input_ids: Tensor
    target_ids: Tensor
    loss_mask: Tensor
    loss_weights: Tensor
    positions: Tensor
    structure: Mapping[str, Tensor]
    attend: Attend
    chunks: ChunkInput | None = None
    platforms: PlatformInput | None = None


def model_input(
    batch: RowBatch,
    device: torch.device,
    context_loss: float = 1.0,
    softcap: float = 0.0,
    *,
    one_graph: bool = False,
    attention: str = AUTO,
) -> ModelInput:
    """Move a loader batch to `device` and prepare its attention.

    `softcap`, `one_graph` and the recipe's `attention` are passed to `attention_for`. The loss of a token outside of
    the root has the weight `context_loss`.
    """
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
        attend=attention_for(batch, layout, device, softcap, one_graph=one_graph, kind=attention),
        chunks=None if batch.chunks is None else chunk_input(batch.chunks, device),
        platforms=None
        if batch.platforms is None
        else PlatformInput(tensor(batch.platforms).long(), tensor(batch.doc_ids).long()),
    )


def loss_weights(batch: RowBatch, context_loss: float) -> NDArray[np.float32]:
    """Return (B, T) weights of the loss at each position, by the role of the token that is predicted there."""
    roles = np.zeros_like(batch.roles)
    roles[:, :-1] = batch.roles[:, 1:]
    return np.where(roles == ROOT_ROLE, 1, context_loss).astype(np.float32) * batch.loss_mask


class GPT(nn.Module):
    """The model. `forward` returns the summed loss of a batch, `logits` the scores of every token."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(padded(config.vocabulary_size), config.hidden))
        seen = config.structure.components
        self.structure = StructureEmbedding(config.structure, config.hidden) if seen else None
        self.ngrams = NgramEmbedding(config.ngrams, config.hidden) if config.ngrams.heads else None
        self.platforms = PlatformEmbedding(config.hidden) if config.structure.platform_embed_enabled else None
        self.relation_bias = RelationBias(config.heads) if config.relation_bias else None
        width = config.structure.bottleneck_dim
        self.graph = StructureGraphEnricher(config.hidden, width, config.tree_steps) if config.tree_steps else None
        widths = Widths(config.hidden, config.heads, config.groups, config.layers)
        self.blocks = nn.ModuleList(Block(widths, config.state_space, number) for number in range(config.layers))
        self.norm = nn.Parameter(torch.ones(config.hidden))
        nn.init.normal_(self.embedding, std=INITIAL_STD)

    def forward(self, batch: ModelInput) -> Tensor:
        """Return the weighted sum of the losses in nats: a scalar."""
        hidden, weight = self._states(batch)
        weights = batch.loss_weights.flatten()
        return masked_cross_entropy(hidden.flatten(0, 1), weight, batch.target_ids.flatten(), weights)

    def token_losses(self, batch: ModelInput, places: Tensor) -> Tensor:
        """Return (N,) float32 losses in nats at `places` (N,). `batch` must have one row."""
        hidden, weight = self._states(batch)
        targets = torch.split(batch.target_ids[0][places], _SCORED_AT_ONCE)
        parts = zip(torch.split(hidden[0][places], _SCORED_AT_ONCE), targets, strict=True)
        return torch.cat([cross_entropy(linear(h, weight).float(), target, reduction="none") for h, target in parts])

    def logits(self, batch: ModelInput) -> Tensor:
        """Return (B, T, vocabulary) scores, for tests and small batches. The loss never builds them."""
        return linear(self.hidden(batch), self.output_weight)

    def _states(self, batch: ModelInput) -> tuple[Tensor, Tensor]:
        """Return (B, T, hidden) states and (vocabulary, hidden) output weights, in the dtype of the matrix products."""
        dtype = getattr(torch, self.config.dtype)
        with torch.autocast(batch.input_ids.device.type, dtype, enabled=dtype != torch.float32):
            hidden = self.hidden(batch)
        return hidden.to(dtype), self.output_weight.to(dtype)

    @property
    def output_weight(self) -> Tensor:
        """Return the tied embedding without its padding rows: (vocabulary, hidden)."""
        return self.embedding[: self.config.vocabulary_size]

    def hidden(self, batch: ModelInput) -> Tensor:
        """Return (B, T, hidden) states after the last norm."""
        turned = rotation(batch.positions, self.config.head_dim, self.config.rope_base)
        x = nn.functional.embedding(batch.input_ids, self.embedding)
        if self.structure is not None:
            x = x + self.structure(batch.structure, batch.input_ids)
        if self.ngrams is not None:
            x = x + self.ngrams(batch.input_ids, batch.positions)
        if self.platforms is not None:
            x = x + self.platforms(_platforms(batch))
        if self.graph is not None:
            x = x + self.graph(x, _chunks(batch))
        bias = None if self.relation_bias is None else self.relation_bias(_chunks(batch))
        for block in self.blocks:
            x = block(x, turned, batch.positions, batch.attend, bias)
        return rms_norm(x, self.norm.shape, self.norm)


def _chunks(batch: ModelInput) -> ChunkInput:
    if batch.chunks is None:
        do = "open the rows with their chunks"
        raise SpecError("batch of a model that uses chunks", expected="the chunks of its rows", found="none", do=do)
    return batch.chunks


def _platforms(batch: ModelInput) -> PlatformInput:
    if batch.platforms is None:
        do = "open the rows with their platforms"
        raise SpecError(
            "batch of a model that uses platforms", expected="platforms of its documents", found="none", do=do
        )
    return batch.platforms
