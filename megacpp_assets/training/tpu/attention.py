"""Attention within documents: JAX's splash kernel on TPUs, a dense mask on CPUs and for scores with a bias.

The kernel gets documents as numbers (`SegmentIds`), which are values of the batch and not of the graph. So one
compiled kernel serves any number of documents of any length.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import MAX_DENSE_TOKENS

ROWS: Final = "rows"
"""The axis of a mesh of devices over which the rows of a batch are spread."""


class SegmentAttention(Protocol):
    """Attention in which no token sees another document, nor what comes after it."""

    def __call__(
        self,
        query: jax.Array,
        key: jax.Array,
        value: jax.Array,
        documents: jax.Array,
        bias: jax.Array | None = None,
    ) -> jax.Array:
        """(B, T, heads, width) queries, keys and values of as many heads or of fewer that divide them, and (B, T) int32
        document numbers -> the queries' shape. `bias` (B, heads, T, T) is added to the scores."""


def attention_for(mesh: Mesh, heads: int, row_tokens: int, softcap: float, *, biased: bool = False) -> SegmentAttention:
    """Return the attention of the devices of `mesh`.

    The splash kernel adds no bias, so `biased` scores are dense: `SpecError` for rows above `MAX_DENSE_TOKENS`.
    """
    if biased and row_tokens > MAX_DENSE_TOKENS:
        do = "set training.relation_bias to false for these rows"
        raise SpecError(
            "rows of a relation bias", expected=f"at most {MAX_DENSE_TOKENS} tokens", found=row_tokens, do=do
        )
    if mesh.devices.flat[0].platform == "tpu" and not biased:
        return _splash(mesh, heads, row_tokens, softcap)
    return _dense(softcap)


def _splash(mesh: Mesh, heads: int, row_tokens: int, softcap: float) -> SegmentAttention:
    """Each device goes through its own rows: the compiler cannot divide a kernel that it does not look into."""
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as kernel  # noqa: PLC0415
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks  # noqa: PLC0415

    causal = masks.MultiHeadMask([masks.CausalMask((row_tokens, row_tokens)) for _ in range(heads)])
    blocks = kernel.make_splash_mha(causal, head_shards=1, q_seq_shards=1, attn_logits_soft_cap=softcap or None)

    def of_row(query: jax.Array, key: jax.Array, value: jax.Array, documents: jax.Array) -> jax.Array:
        return blocks(query, key, value, kernel.SegmentIds(documents, documents))

    rows = PartitionSpec(ROWS)
    of_rows = jax.shard_map(jax.vmap(of_row), mesh=mesh, in_specs=(rows,) * 4, out_specs=rows, check_vma=False)

    def attend(
        query: jax.Array, key: jax.Array, value: jax.Array, documents: jax.Array, bias: jax.Array | None = None
    ) -> jax.Array:
        assert bias is None
        query = query * query.shape[-1] ** -0.5  # the kernel does not scale
        heads_first = (part.swapaxes(1, 2) for part in (query, key, value))
        mixed: jax.Array = of_rows(*heads_first, documents)
        return mixed.swapaxes(1, 2)

    return attend


def _dense(softcap: float) -> SegmentAttention:
    def attend(
        query: jax.Array, key: jax.Array, value: jax.Array, documents: jax.Array, bias: jax.Array | None = None
    ) -> jax.Array:
        shared = query.shape[2] // key.shape[2]
        key, value = (jnp.repeat(part, shared, axis=2) for part in (key, value))
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key).astype(jnp.float32) * query.shape[-1] ** -0.5
        if softcap:
            scores = softcap * jnp.tanh(scores / softcap)
        if bias is not None:
            scores = scores + bias
        tokens = jnp.arange(documents.shape[1])
        seen = (documents[:, :, None] == documents[:, None, :]) & (tokens[:, None] >= tokens[None, :])
        shares: Any = jax.nn.softmax(jnp.where(seen[:, None], scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", shares.astype(value.dtype), value)

    return attend
