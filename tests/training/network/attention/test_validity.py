"""Blocks of queries and keys by class, against the rule asked for every pair."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.network.attention.dense import document_mask
from megacpp_assets.training.network.attention.layout import DocumentLayout, document_layout
from megacpp_assets.training.network.attention.validity import (
    AttentionValidity,
    BlockClasses,
    ValidityMode,
    classify_selected_block_masks,
    normalize_attention_validity,
)

TOKENS = 32
ROWS = st.lists(st.lists(st.integers(1, 12), max_size=6), min_size=1, max_size=3)


def packed(rows: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32], DocumentLayout]:
    """Document ids, valid counts and layout of rows of documents of those lengths, as far as they fit."""
    doc_ids, valid = np.zeros((len(rows), TOKENS), np.int32), np.zeros(len(rows), np.int32)
    for line, lengths in enumerate(rows):
        ids = np.repeat(np.arange(len(lengths)), lengths)[:TOKENS]
        doc_ids[line, : len(ids)], valid[line] = ids, len(ids)
    return doc_ids, valid, document_layout(doc_ids, valid)


def by_block(mask: NDArray[np.bool_], block: int) -> NDArray[np.bool_]:
    """(B, blocks, blocks, block, block)."""
    count = TOKENS // block
    return mask.reshape(len(mask), count, block, count, block).swapaxes(2, 3)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, block=st.sampled_from([2, 4, 8]))
def test_the_classes_are_those_of_the_pairs(rows: list[list[int]], block: int) -> None:
    doc_ids, valid, layout = packed(rows)
    classes = classify_selected_block_masks(layout, AttentionValidity(valid), block)
    pairs = by_block(document_mask(torch.from_numpy(doc_ids), torch.from_numpy(valid))[:, 0].numpy(), block)
    assert np.array_equal(classes.allowed, pairs.any((3, 4)))
    assert np.array_equal(classes.fully_safe, pairs.all((3, 4)))
    assert np.array_equal(classes.needs_token_cleanup, pairs.any((3, 4)) & ~pairs.all((3, 4)))


def classes_of(validity: AttentionValidity) -> BlockClasses:
    return classify_selected_block_masks(packed([[TOKENS]])[2], validity, 8)


def test_without_counts_every_token_is_valid() -> None:
    assert AttentionValidity().mode is ValidityMode.NONE
    assert np.array_equal(classes_of(AttentionValidity()).allowed[0], np.tri(4, dtype=bool))


def test_slot_counts_take_precedence_if_a_slot_is_a_tile() -> None:
    both = AttentionValidity(np.array([9]), np.array([3]), base_block_tokens=8)
    assert both.mode is ValidityMode.SLOT_PREFIX and both.on_tiles(8) is both
    assert both.on_tiles(16).mode is ValidityMode.TOKEN_PREFIX
    assert AttentionValidity(None, np.array([3]), 8).on_tiles(16).mode is ValidityMode.NONE
    assert classes_of(both).allowed[0].sum() == 3 + 2 + 1
    assert classes_of(both.on_tiles(16)).allowed[0].sum() == 2 + 1


def test_only_selected_blocks_are_classified() -> None:
    selected = np.eye(4, dtype=bool)[None]
    classes = classify_selected_block_masks(packed([[TOKENS]])[2], AttentionValidity(), 8, selected)
    assert np.array_equal(classes.allowed, selected) and not classes.fully_safe.any()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((np.zeros((1, 1), int),), "token_counts"),
        ((np.array([0.5]),), "token_counts"),
        ((None, np.array([-1]), 8), "slot_counts"),
        ((None, np.array([1])), "base_block_tokens"),
    ],
)
def test_malformed_counts_are_rejected(arguments: tuple[object, ...], named: str) -> None:
    with pytest.raises(SpecError, match=f"{named} of .*; expected"):
        AttentionValidity(*arguments)


def test_a_mask_is_counted_and_compared_with_counts() -> None:
    counts = np.array([3, 0, 8], np.int32)
    mask = np.arange(8) < counts[:, None]
    found = normalize_attention_validity(token_mask=mask, row_valid_token_counts=counts)
    assert found.mode is ValidityMode.TOKEN_PREFIX and found.tokens(3, 8).tolist() == counts.tolist()
    assert normalize_attention_validity().mode is ValidityMode.NONE
    slots = normalize_attention_validity(token_mask=mask, row_valid_block_counts=counts, base_block_tokens=2)
    assert slots.mode is ValidityMode.SLOT_PREFIX and slots.tokens(3, 8).tolist() == [6, 0, 8]
    with pytest.raises(SpecError, match="valid tokens first, then padding; found a hole"):
        normalize_attention_validity(token_mask=~mask)
    with pytest.raises(SpecError, match=r"mask of valid tokens; expected counts \[2, 0, 8\]; found \[3, 0, 8\]"):
        normalize_attention_validity(token_mask=mask, row_valid_token_counts=np.array([2, 0, 8]))
