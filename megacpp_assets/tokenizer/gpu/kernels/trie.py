"""The longest token at every place, one lane a place: two steps by table, then bisection of a node's sorted edges."""

from __future__ import annotations

import triton
import triton.language as tl

_NONE = tl.constexpr(-1)


@triton.jit
def longest_tokens(
    cells, edges, children, ids, first_step, second_step, first_edge, edge_count, tokens, size, LANES: tl.constexpr
):
    """`tokens[i]` is the id of the longest token that begins at cell i; END (256) is on no edge."""
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    byte = tl.load(cells + at, mask=at < size, other=256).to(tl.int32)
    inside = byte < 256
    best = tl.load(ids + tl.load(first_step + byte, mask=inside, other=0), mask=inside, other=_NONE)
    follows = tl.load(cells + at + 1, mask=inside & (at + 1 < size), other=256).to(tl.int32)
    node = tl.load(second_step + byte * 256 + follows, mask=inside & (follows < 256), other=_NONE)
    depth = 2
    while tl.max(node, axis=0) > 0:
        held = node > 0
        token = tl.load(ids + node, mask=held, other=_NONE)
        best = tl.where(token >= 0, token, best)
        byte = tl.load(cells + at + depth, mask=held & (at + depth < size), other=256).to(tl.int32)
        low = tl.load(first_edge + node, mask=held, other=0)
        end = low + tl.load(edge_count + node, mask=held, other=0)
        high = end
        for _ in range(9):
            middle = (low + high) >> 1
            less = (low < high) & (tl.load(edges + middle, mask=held & (low < high), other=256) < byte)
            high = tl.where(less, high, tl.minimum(middle, high))
            low = tl.where(less, middle + 1, low)
        here = held & (low < end)
        match = here & (tl.load(edges + low, mask=here, other=256) == byte)
        node = tl.load(children + low, mask=match, other=_NONE)
        depth += 1
    tl.store(tokens + at, best, mask=at < size)
