"""The valid part of each row, and the blocks of queries and keys that follow from it (docs/contracts.md).

It is computed once per batch on the host, so that no kernel searches for padding or borders of documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.network.attention.layout import DocumentLayout


class ValidityMode(Enum):
    """The unit in which a row's valid prefix is counted."""

    SLOT_PREFIX = "slot_prefix"
    TOKEN_PREFIX = "token_prefix"
    NONE = "none"
    """Every token is valid."""


@dataclass(frozen=True, slots=True)
class AttentionValidity:
    """The valid prefix of each row, from (B,) `token_counts` or from (B,) `slot_counts` of `base_block_tokens`
    tokens each.

    Slots take precedence; without both, every token is valid. `SpecError` for counts that are not (B,) whole numbers
    from 0, or slots without a size.
    """

    token_counts: NDArray[np.integer] | None = None
    slot_counts: NDArray[np.integer] | None = None
    base_block_tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("token_counts", "slot_counts"):
            counts = getattr(self, name)
            if counts is None:
                continue
            if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts < 0).any():
                found = f"{counts.dtype} of shape {counts.shape}"
                raise SpecError(f"{name} of a batch", expected="a whole number from 0 a row, (B,)", found=found)
        if self.slot_counts is not None and self.base_block_tokens < 1:
            raise SpecError("base_block_tokens of slot counts", expected="at least 1", found=self.base_block_tokens)

    @property
    def mode(self) -> ValidityMode:
        """The mode that applies: slots take precedence over tokens."""
        if self.slot_counts is not None:
            return ValidityMode.SLOT_PREFIX
        return ValidityMode.NONE if self.token_counts is None else ValidityMode.TOKEN_PREFIX

    def on_tiles(self, query_tile_tokens: int) -> AttentionValidity:
        """Return the mode for a kernel over clustered tiles: slots only if a slot is a tile, else tokens, else all
        valid.
        """
        if self.slot_counts is not None and self.base_block_tokens == query_tile_tokens:
            return self
        return AttentionValidity(self.token_counts)

    def tokens(self, rows: int, row_tokens: int) -> NDArray[np.int64]:
        """Return the number of valid tokens (B,) of each of `rows` rows of `row_tokens`."""
        if self.slot_counts is not None:
            return np.minimum(self.slot_counts.astype(np.int64) * self.base_block_tokens, row_tokens)
        if self.token_counts is not None:
            return self.token_counts.astype(np.int64)
        return np.full(rows, row_tokens, np.int64)


def normalize_attention_validity(
    *,
    row_valid_token_counts: NDArray[np.integer] | None = None,
    row_valid_block_counts: NDArray[np.integer] | None = None,
    base_block_tokens: int = 0,
    token_mask: NDArray[np.bool_] | None = None,
) -> AttentionValidity:
    """Return the carrier of what a batch says of its valid tokens: counts (B,) of tokens or blocks, or a mask (B, T).

    A mask is counted here, on the host. `SpecError` for a mask with a hole, for a mask beside counts of other tokens,
    and like `AttentionValidity`.
    """
    counts = row_valid_token_counts
    if token_mask is not None:
        counted = token_mask.sum(axis=-1)
        if not np.array_equal(token_mask, np.arange(token_mask.shape[-1]) < counted[..., None]):
            raise SpecError("mask of valid tokens", expected="valid tokens first, then padding", found="a hole")
        if counts is not None and not np.array_equal(counts, counted):
            raise SpecError("mask of valid tokens", expected=f"counts {counts.tolist()}", found=counted.tolist())
        counts = counted
    return AttentionValidity(counts, row_valid_block_counts, base_block_tokens)


@dataclass(frozen=True, slots=True)
class BlockClasses:
    """(B, blocks, blocks) flags for each block of queries and block of keys.

    A block is `allowed` if at least one of its pairs attends, `fully_safe` if all do, and `needs_token_cleanup` if each
    pair must be tested.
    """

    allowed: NDArray[np.bool_]
    fully_safe: NDArray[np.bool_]

    @property
    def needs_token_cleanup(self) -> NDArray[np.bool_]:
        """Blocks that are allowed and not fully safe."""
        return self.allowed & ~self.fully_safe


def classify_selected_block_masks(
    layout: DocumentLayout,
    validity: AttentionValidity,
    block_tokens: int,
    selected: NDArray[np.bool_] | None = None,
) -> BlockClasses:
    """Return the classes of the blocks of `block_tokens` queries and keys, for rows of this `layout`.

    If a sparse kernel has `selected` blocks, (B, blocks, blocks), only these are allowed. A block on the diagonal
    always needs cleanup, because attention is causal. The classes are computed from the starts of documents: torch's
    `create_block_mask` evaluates the rule for all pairs, which on an H200 takes six times as long as the attention.
    """
    rows, tokens = layout.positions.shape
    blocks = -(-tokens // block_tokens)
    first = np.arange(blocks) * block_tokens
    last = np.minimum(first + block_tokens, tokens) - 1
    begin = np.arange(tokens) - layout.positions
    valid = validity.tokens(rows, tokens)[:, None]
    # Documents are contiguous, so the keys that a block of queries may see begin at the first query's document.
    seen = np.where(first < valid, begin[:, first] // block_tokens, np.arange(blocks) + 1)
    # All queries of a block see all keys of another block if those keys are in the last query's document and the
    # block of keys is before the block of queries.
    whole = np.where((last < valid) & (last == first + block_tokens - 1), -(-begin[:, last] // block_tokens), blocks)
    column, row = np.arange(blocks), np.arange(blocks)[:, None]
    allowed = (column >= seen[:, :, None]) & (column <= row)
    if selected is not None:
        allowed &= selected
    return BlockClasses(allowed, allowed & (column >= whole[:, :, None]) & (column < row))
