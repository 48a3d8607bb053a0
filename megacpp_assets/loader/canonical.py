"""A batch's structure at one shape and one set of keys, so that XLA compiles one graph (docs/contracts.md).

Structure and chunks are filled in where a batch lacks them. What says that tokens or blocks are valid is never made up:
absent is not the same as present and zero, so it stays absent.
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
"""Passed on where they are there, and never filled in."""

StructureMeta = dict[str, NDArray[Any]]


def canonicalize_structure_meta_for_xla(
    x: NDArray[np.integer],
    structure_meta: Mapping[str, NDArray[Any]],
    *,
    structure: bool = True,
    tree_ffn: bool = False,
) -> StructureMeta:
    """The structure of a batch `x` (B, T) with the same keys, shapes and dtypes every time.

    With `structure` the five (B, T) int32 columns of the structure embedding; with `tree_ffn` also `token_chunk_ids`,
    `token_chunk_valid` (B, T), `semantic_block_starts`, `_ends`, `_valid` (B, C), `semantic_block_keep_mask` and
    `semantic_block_edge_weights` (B, C, C), with C = max(128, T // 32). All other keys are left out, but
    `VALIDITY_KEYS`. `SchemaViolation` for a value of another shape.
    """
    batch, tokens = x.shape
    wanted: dict[str, tuple[tuple[int, ...], int, type]] = {}
    if structure:
        fills = c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES
        wanted |= {key: ((batch, tokens), fills[key], np.int32) for key in c.STRUCTURE_CHANNELS.values()}
    if tree_ffn:
        wanted |= _chunk_shapes(batch, tokens)
    filled = {key: _filled(key, structure_meta.get(key), *how) for key, how in wanted.items()}
    return filled | {key: structure_meta[key] for key in VALIDITY_KEYS if key in structure_meta}


def _chunk_shapes(batch: int, tokens: int) -> dict[str, tuple[tuple[int, ...], int, type]]:
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
