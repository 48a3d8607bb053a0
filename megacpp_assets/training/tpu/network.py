"""The model of `network.model`, over the same weights by the same names, as one function of arrays.

Matrix products are of the recipe's dtype; the residual stream, norms and the loss are float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate
from typing import Final

import jax
import jax.numpy as jnp

from megacpp_assets.contract.platforms import PLATFORM_IDS
from megacpp_assets.training.network.model import ModelConfig
from megacpp_assets.training.network.structure import CHANNEL_OF, StructureConfig
from megacpp_assets.training.tpu.attention import SegmentAttention
from megacpp_assets.training.tpu.chunks import enriched, relation_bias
from megacpp_assets.training.tpu.state_space import read_states

Weights = Mapping[str, jax.Array]
Batch = Mapping[str, jax.Array]

_SCORED_AT_ONCE: Final = 512
"""Tokens of each row whose scores over the vocabulary are in memory together."""
_EPSILON: Final = float(jnp.finfo(jnp.float32).eps)
"""Of a norm, as torch takes it where none is named."""


def summed_loss(weights: Weights, batch: Batch, config: ModelConfig, attend: SegmentAttention) -> jax.Array:
    """Weighed sum over the tokens with loss, in nats: a scalar. A part of each row's scores is in memory at a time."""
    dtype = jnp.dtype(config.dtype)
    states = hidden(weights, batch, config, attend).astype(dtype)
    output = weights["embedding"][: config.vocabulary_size].astype(dtype)
    size = math.gcd(_SCORED_AT_ONCE, states.shape[1])

    def of_part(total: jax.Array, start: jax.Array) -> tuple[jax.Array, None]:
        h, target, weight = (
            jax.lax.dynamic_slice_in_dim(whole, start, size, axis=1)
            for whole in (states, batch["target_ids"], batch["weights"])
        )
        scores = _product(h, output).astype(jnp.float32)
        right = jnp.take_along_axis(scores, target[..., None], axis=-1)[..., 0]
        return total + jnp.sum((jax.nn.logsumexp(scores, axis=-1) - right) * weight), None

    starts = jnp.arange(0, states.shape[1], size)
    total, _ = jax.lax.scan(jax.checkpoint(of_part), jnp.zeros((), jnp.float32), starts)
    return total


def hidden(weights: Weights, batch: Batch, config: ModelConfig, attend: SegmentAttention) -> jax.Array:
    """(B, T, hidden) states after the last norm."""
    turned = _rotation(batch["positions"], config.head_dim, config.rope_base)
    x = weights["embedding"][batch["input_ids"]]
    if config.structure.components:
        x = x + _structure(weights, batch, config.structure)
    if config.ngrams.heads:
        vectors = weights["ngrams.table"][batch["ngrams"]]
        x = x + _linear(vectors.reshape(*vectors.shape[:2], -1), weights["ngrams.up"], config)

    if config.structure.platform_embed_enabled:
        x = x + _platforms(weights["platforms.table"], batch)
    if config.tree_steps:
        x = x + enriched(weights, x, batch, config.tree_steps)
    # The bias is small by chunk and large by token, so each block computes it again from the table.
    table = weights["relation_bias.table"] if config.relation_bias else None

    def attended(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        bias = None if table is None else relation_bias(table, batch)
        return attend(_rotate(query, turned), _rotate(key, turned), value, batch["documents"], bias)

    # What a block computes is computed again for its gradients: only the stream between blocks is kept.
    attends = jax.checkpoint(
        partial(_block, config=config, mixer=partial(_attention, config=config, attended=attended))
    )
    carries = jax.checkpoint(partial(_block, config=config, mixer=partial(_states, batch=batch, config=config)))
    for number in range(config.layers):
        prefix = f"blocks.{number}."
        mine = {name.removeprefix(prefix): each for name, each in weights.items() if name.startswith(prefix)}
        x = carries(x, mine) if config.state_space.mixes(number) else attends(x, mine)
    return _norm(x, weights["norm"])


def _block(x: jax.Array, weights: Weights, *, config: ModelConfig, mixer: Callable[..., jax.Array]) -> jax.Array:
    x = x + mixer(x, weights)
    gate, up = jnp.split(_linear(_norm(x, weights["mlp.norm"]), weights["mlp.gate_up"], config), 2, axis=-1)
    return x + _linear(jax.nn.silu(gate) * up, weights["mlp.down"], config)


def _attention(x: jax.Array, weights: Weights, *, config: ModelConfig, attended: Callable[..., jax.Array]) -> jax.Array:
    projected = _linear(_norm(x, weights["mixer.norm"]), weights["mixer.qkv"], config)
    borders = (config.hidden, config.hidden + config.groups * config.head_dim)
    query, key, value = (
        part.reshape(*part.shape[:2], -1, config.head_dim) for part in jnp.split(projected, borders, axis=-1)
    )
    mixed = attended(query, key, value)
    return _linear(mixed.reshape(x.shape), weights["mixer.out"], config)


def _states(x: jax.Array, weights: Weights, *, batch: Batch, config: ModelConfig) -> jax.Array:
    entered = _linear(_norm(x, weights["mixer.norm"]), weights["mixer.enter"], config)
    gate, read = read_states(entered, weights, batch["positions"], config.state_space.state)
    return _linear(_norm(read * jax.nn.silu(gate), weights["mixer.gate_norm"]), weights["mixer.out"], config)


def _structure(weights: Weights, batch: Batch, config: StructureConfig) -> jax.Array:
    sizes = config.vocabularies
    first = accumulate(sizes, initial=0)
    added = jnp.zeros((), jnp.float32)
    for number, (component, size, start) in enumerate(zip(config.components, sizes, first, strict=False)):
        ids = jnp.clip(batch[CHANNEL_OF[component]], 0, size - 1) + start
        added = added + weights["structure.scale"][number] * weights["structure.table"][ids]
    return _product(added, weights["structure.up"])


def _platforms(table: jax.Array, batch: Batch) -> jax.Array:
    """Return the sum of the vectors of the platforms of each token's document, as `PlatformEmbedding` has it."""
    counts = jnp.sum(batch["platforms"][..., None] == jnp.arange(1, PLATFORM_IDS), axis=-2).astype(jnp.float32)
    places = jnp.arange(1, counts.shape[1] + 1)
    member = (batch["documents"][..., None] == places).astype(jnp.float32)
    return _product(jnp.einsum("btd,bdp->btp", member, counts), table[1:].T)


def _linear(x: jax.Array, weight: jax.Array, config: ModelConfig) -> jax.Array:
    dtype = jnp.dtype(config.dtype)
    return _product(x.astype(dtype), weight.astype(dtype))


def _product(x: jax.Array, weight: jax.Array) -> jax.Array:
    """`x` (..., in) times `weight` (out, in), in full precision where they are float32."""
    return jnp.einsum("...i,oi->...o", x, weight, precision=jax.lax.Precision.HIGHEST)


def _norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    x = x.astype(jnp.float32)
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + _EPSILON) * scale


def _rotation(positions: jax.Array, head_dim: int, base: float) -> tuple[jax.Array, jax.Array]:
    exponent = jnp.arange(0, head_dim, 2, dtype=jnp.float32) / head_dim
    angles = positions[..., None, None].astype(jnp.float32) * base**-exponent
    return jnp.cos(angles), jnp.sin(angles)


def _rotate(x: jax.Array, turned: tuple[jax.Array, jax.Array]) -> jax.Array:
    cos, sin = (part.astype(x.dtype) for part in turned)
    left, right = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((left * cos - right * sin, right * cos + left * sin), axis=-1)
