"""Brings the structure of a batch to fixed shapes and keys, so that XLA compiles one graph (docs/contracts.md).

Missing structure and chunks are filled in. Missing validity values are not: a missing value and a value of zero have
different meanings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import fixed_max_chunks

VALIDITY_KEYS: Final = (
    "row_valid_token_counts",
    "row_valid_block_counts",
    "row_block_size_tokens",
    "base_block_tokens",
)
"""Keys that are copied if present and never filled in."""

StructureMeta = dict[str, NDArray[Any]]


def canonicalize_structure_meta_for_xla(
    x: NDArray[np.integer],
    structure_meta: Mapping[str, NDArray[Any]],
    *,
    structure: bool = True,
    tree_ffn: bool = False,
) -> StructureMeta:
    """Return the structure of a batch `x` (B, T), always with the same keys, shapes and dtypes.

    With `structure`, the result has the five (B, T) int32 columns of the structure embedding. With `tree_ffn`, it also
    has `token_chunk_ids` and `token_chunk_valid` (B, T), `semantic_block_starts`, `_ends` and `_valid` (B, C),
    `semantic_block_keep_mask` and `semantic_block_edge_weights` (B, C, C), where C = max(128, T // 32). Of all other
    keys only `VALIDITY_KEYS` are kept. Raises `SchemaViolation` if a value has another shape.
    """
    batch, tokens = x.shape
    wanted: dict[str, tuple[tuple[int, ...], int, type]] = {}
    if structure:
        fills = c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES
        wanted |= {key: ((batch, tokens), fills[key], np.int32) for key in c.STRUCTURE_CHANNELS.values()}
    if tree_ffn:
        wanted |= chunk_shapes(batch, tokens)
    filled = {key: _filled(key, structure_meta.get(key), *how) for key, how in wanted.items()}
    return filled | {key: structure_meta[key] for key in VALIDITY_KEYS if key in structure_meta}


def chunk_shapes(batch: int, tokens: int) -> dict[str, tuple[tuple[int, ...], int, type]]:
    """Return the shape, fill and dtype of each chunk key, for `batch` rows of `tokens` tokens."""
    slots = fixed_max_chunks(tokens)
    return {
        "token_chunk_ids": ((batch, tokens), 0, np.int32),
        "token_chunk_valid": ((batch, tokens), 0, np.bool_),
        "semantic_block_starts": ((batch, slots), 0, np.int32),
        "semantic_block_ends": ((batch, slots), 0, np.int32),
        "semantic_block_valid": ((batch, slots), 0, np.bool_),
        "semantic_block_keep_mask": ((batch, slots, slots), 0, np.bool_),
        "semantic_block_edge_weights": ((batch, slots, slots), 0, np.float32),
    }


def _filled(key: str, values: NDArray[Any] | None, shape: tuple[int, ...], fill: int, dtype: type) -> NDArray[Any]:
    if values is None:
        return np.full(shape, fill, dtype)
    if values.shape != shape:
        do = "pad it to the fixed width, or leave it out"
        raise SchemaViolation(key, expected=f"shape {shape}", found=values.shape, do=do)
    return values.astype(dtype, copy=False)
