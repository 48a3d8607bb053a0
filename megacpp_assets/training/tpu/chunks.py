"""`StructureGraphEnricher` and `RelationBias` as functions of arrays, over the weights of `network` by their names.

Chunks are pooled, ranked and read back by comparisons, cumulative sums and matrix products. Nothing here lowers to a
top-k, scatter, searchsorted or nonzero, and shapes depend on the row length alone, so one graph serves all batches.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp

from megacpp_assets.training.network.graph import MESSAGES, NEIGHBOURS

Arrays = Mapping[str, jax.Array]

_EXACT = jax.lax.Precision.HIGHEST
_EPSILON = float(jnp.finfo(jnp.float32).eps)


def membership(batch: Arrays) -> jax.Array:
    """(B, T, C) float32: 1 where the token is of the chunk. `chunk_ids` (B, T) are C for tokens without a chunk."""
    return (batch["chunk_ids"][..., None] == jnp.arange(batch["relations"].shape[-1])).astype(jnp.float32)


def enriched(weights: Arrays, x: jax.Array, batch: Arrays, steps: int) -> jax.Array:
    """(B, T, hidden): what `steps` messages between related chunks add to `x`, as `StructureGraphEnricher` has it."""
    member = membership(batch)
    normed = x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + _EPSILON) * weights["graph.norm"]
    values = jnp.einsum("bth,wh->btw", normed, weights["graph.down"], precision=_EXACT)
    pooled = jnp.einsum("btc,btw->bcw", member, values, precision=_EXACT)
    state = pooled / jnp.maximum(member.sum(axis=1), 1)[..., None]
    earlier = jnp.tril(batch["relations"][:, MESSAGES], -1)
    related = earlier.any(axis=1)
    kept = related & (jnp.cumsum(related.astype(jnp.int32), axis=-1) <= NEIGHBOURS)
    heard = (earlier & kept[:, None]).astype(jnp.float32)
    count = jnp.clip(related.sum(axis=-1), 1, NEIGHBOURS)[..., None]
    message = state
    for _ in range(steps):
        sums = jnp.einsum("brij,bjw->briw", heard, state, precision=_EXACT)
        mixed = jnp.einsum("briw,rwv->biv", sums, weights["graph.relation"], precision=_EXACT) / count
        message = jnp.einsum("biw,vw->biv", jax.nn.silu(mixed), weights["graph.mix"], precision=_EXACT)
        state = state + message
    told = jnp.einsum("btc,bcw->btw", member, message, precision=_EXACT)
    return jnp.einsum("btw,hw->bth", told, weights["graph.up"], precision=_EXACT)


def relation_bias(table: jax.Array, batch: Arrays) -> jax.Array:
    """(B, heads, T, T): what attention adds to a score, by `table` (R, heads) and the chunks of query and key."""
    member = membership(batch)
    values = jnp.einsum("brij,rh->bhij", batch["relations"].astype(table.dtype), table, precision=_EXACT)
    of_queries = jnp.einsum("bti,bhij->bhtj", member, values, precision=_EXACT)
    return jnp.einsum("bhtj,bsj->bhts", of_queries, member, precision=_EXACT)
