"""`StructureGraphEnricher` and `RelationBias` as functions of arrays, over the weights of `network` by their names.

Chunks are pooled, ranked and read back by comparisons, cumulative sums and matrix products. Nothing here lowers to a
top-k, scatter, searchsorted or nonzero, and shapes depend on the row length alone, so one graph serves all batches.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp

from megacpp_assets.loader.chunks import MESSAGES, NEIGHBOURS

Arrays = Mapping[str, jax.Array]

_EXACT = jax.lax.Precision.HIGHEST
_EPSILON = float(jnp.finfo(jnp.float32).eps)


def membership(batch: Arrays) -> jax.Array:
    """(B, T, C) float32: 1 where the token is of the chunk.

    Without `token_chunk_ids` and `token_chunk_valid` it is computed from where chunks start and end, which is slower.
    """
    slots = batch["semantic_block_valid"].shape[-1]
    ids, valid = (
        (batch["token_chunk_ids"], batch["token_chunk_valid"]) if "token_chunk_ids" in batch else _token_chunks(batch)
    )
    return ((ids[..., None] == jnp.arange(slots)) & valid[..., None]).astype(jnp.float32)


def _token_chunks(batch: Arrays) -> tuple[jax.Array, jax.Array]:
    """Return the (B, T) chunk of each token, by the number of chunks that have begun, and whether it is in that
    chunk.
    """
    starts, ends, real = (batch[f"semantic_block_{name}"][:, None] for name in ("starts", "ends", "valid"))
    places = jnp.arange(batch["input_ids"].shape[-1])[:, None]
    ids = (real & (starts <= places)).sum(axis=-1) - 1
    own = ids[..., None] == jnp.arange(starts.shape[-1])
    return ids, (own & real & (places < ends)).any(axis=-1)


def enriched(weights: Arrays, x: jax.Array, batch: Arrays, steps: int) -> jax.Array:
    """(B, T, hidden): what `steps` messages between related chunks add to `x`, as `StructureGraphEnricher` has it."""
    member = membership(batch)
    normed = x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + _EPSILON) * weights["graph.norm"]
    values = jnp.einsum("bth,wh->btw", normed, weights["graph.down"], precision=_EXACT)
    pooled = jnp.einsum("btc,btw->bcw", member, values, precision=_EXACT)
    state = pooled / jnp.maximum(member.sum(axis=1), 1)[..., None]
    keep = batch["semantic_block_keep_mask"]
    kept = keep & (jnp.cumsum(keep.astype(jnp.int32), axis=-1) <= NEIGHBOURS)
    heard = (batch["relations"][:, MESSAGES] & kept[:, None]) * batch["semantic_block_edge_weights"][:, None]
    message = state
    for _ in range(steps):
        sums = jnp.einsum("brij,bjw->briw", heard, state, precision=_EXACT)
        mixed = jnp.einsum("briw,rwv->biv", sums, weights["graph.relation"], precision=_EXACT)
        message = jnp.einsum("biw,vw->biv", jax.nn.silu(mixed), weights["graph.mix"], precision=_EXACT)
        state = state + message
    received = jnp.einsum("btc,bcw->btw", member, message, precision=_EXACT)
    return jnp.einsum("btw,hw->bth", received, weights["graph.up"], precision=_EXACT)


def relation_bias(table: jax.Array, batch: Arrays) -> jax.Array:
    """(B, heads, T, T): what attention adds to a score, by `table` (R, heads) and the chunks of query and key."""
    member = membership(batch)
    values = jnp.einsum("brij,rh->bhij", batch["relations"].astype(table.dtype), table, precision=_EXACT)
    of_queries = jnp.einsum("bti,bhij->bhtj", member, values, precision=_EXACT)
    return jnp.einsum("bhtj,bsj->bhts", of_queries, member, precision=_EXACT)
