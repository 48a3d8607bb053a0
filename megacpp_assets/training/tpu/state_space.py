"""`StateSpace` as a function of arrays: a Mamba-2 mixer whose state is zero where a document begins.

Chunks of tokens are products of matrices; a scan carries the state from one chunk to the next. Documents are a mask
inside the scan, so one graph serves all batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import NamedTuple

import jax
import jax.numpy as jnp

from megacpp_assets.training.network.state_space import CHUNK

_EXACT = jax.lax.Precision.HIGHEST

Weights = Mapping[str, jax.Array]


class _Tokens(NamedTuple):
    """Of tokens in front: values (H, P), log decays (H,), keys and queries (N,), and the number of the document."""

    values: jax.Array
    log_decays: jax.Array
    keys: jax.Array
    queries: jax.Array
    documents: jax.Array


class _State(NamedTuple):
    """(B, H, N, P) what the document (B,) has left so far."""

    left: jax.Array
    document: jax.Array


def read_states(entered: jax.Array, weights: Weights, positions: jax.Array, state: int) -> tuple[jax.Array, jax.Array]:
    """(gate, read), both (B, T, inner): the mixer between its projections, over `state` numbers a channel.

    `entered` (B, T, widths) is the input projection, and `positions` (B, T) count from each document's first token.
    """
    inner, heads = weights["mixer.gate_norm"].shape[0], weights["mixer.step_bias"].shape[0]
    gate, mixed, steps = jnp.split(entered, (inner, 2 * inner + 2 * state), axis=-1)
    convolved = jax.nn.silu(_convolved(mixed, weights["mixer.kernel"], positions))
    values, keys, queries = jnp.split(convolved.astype(jnp.float32), (inner, inner + state), axis=-1)
    steps = jax.nn.softplus(steps.astype(jnp.float32) + weights["mixer.step_bias"])
    values = values.reshape(*values.shape[:2], heads, -1)
    documents = jnp.cumsum((positions == 0).astype(jnp.int32), axis=-1)
    decays = -steps * jnp.exp(weights["mixer.log_rate"])
    read = _scanned(_Tokens(values * steps[..., None], decays, keys, queries, documents))
    read = read + values * weights["mixer.skip"][:, None]
    return gate, read.reshape(gate.shape).astype(gate.dtype)


def _convolved(x: jax.Array, kernel: jax.Array, positions: jax.Array) -> jax.Array:
    """Each channel over its last tokens of the same document. The last number of a kernel is the token's own."""
    factors = kernel.astype(x.dtype)[:, 0]
    size = factors.shape[-1]
    parts = [
        jnp.where((positions >= back)[..., None], jnp.roll(x, back, axis=1), 0) * factors[:, -1 - back]
        for back in range(size)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _scanned(tokens: _Tokens) -> jax.Array:
    """(B, T, H, P): what each token reads of the states of its document."""
    rows, length, heads, width = tokens.values.shape
    chunk = gcd(length, CHUNK)
    parts = _Tokens(*(each.reshape(rows, -1, chunk, *each.shape[2:]).swapaxes(0, 1) for each in tokens))
    nothing = jnp.zeros((rows, heads, tokens.keys.shape[-1], width), jnp.float32)
    # Documents are numbered from 1: no token belongs to the document 0 of the first state.
    start = _State(nothing, jnp.zeros(rows, tokens.documents.dtype))
    _, read = jax.lax.scan(_of_chunk, start, parts)
    return read.swapaxes(0, 1).reshape(rows, length, heads, width)


def _of_chunk(state: _State, part: _Tokens) -> tuple[_State, jax.Array]:
    """Return the state after a chunk, and what its tokens (B, c, H, P) read."""
    documents, last = part.documents, part.documents[:, -1]
    order = jnp.tril(jnp.ones((documents.shape[1],) * 2, jnp.bool_))
    same = order & (documents[:, :, None] == documents[:, None, :])
    total = jnp.einsum("bij,bjh->bih", same.astype(jnp.float32), part.log_decays, precision=_EXACT)
    within = _decays(total[:, :, None] - total[:, None], same[..., None])
    read = jnp.einsum("bin,bjn,bijh,bjhp->bihp", part.queries, part.keys, within, part.values, precision=_EXACT)
    goes_on = (documents == state.document[:, None])[..., None]
    reached = _decays(total, goes_on)
    read = read + jnp.einsum("bin,bih,bhnp->bihp", part.queries, reached, state.left, precision=_EXACT)
    until_end = _decays(total[:, -1:] - total, (documents == last[:, None])[..., None])
    left = jnp.einsum("bjn,bjh,bjhp->bhnp", part.keys, until_end, part.values, precision=_EXACT)
    return _State(reached[:, -1, :, None, None] * state.left + left, last), read


def _decays(spans: jax.Array, same: jax.Array) -> jax.Array:
    """exp of `spans` where `same`, else exactly 0; masked first, for what is masked may be large."""
    return jnp.exp(jnp.where(same, spans, -jnp.inf))
