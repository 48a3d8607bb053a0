"""Document masking: every backend equals the plain rule, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask, create_mask

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.blocks import block_attention
from megacpp_assets.training.network.attention.choose import Attend
from megacpp_assets.training.network.attention.dense import dense_attention, document_mask
from megacpp_assets.training.network.attention.flex import (
    document_block_mask,
    document_mask_mod,
    flex_document_attention,
)
from megacpp_assets.training.network.attention.layout import document_layout
from tests.training.rounding import assert_equal_up_to_rounding
from tests.training.world import batch_of

DOCUMENT_LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def batch_with(lengths: list[int], other: list[int], pad: int) -> RowBatch:
    tokens = max(sum(lengths), sum(other)) + pad
    rows = [[[2] + [5] * (n - 1) for n in row] for row in (lengths, other)]
    return batch_of(*rows, row_tokens=tokens)


def slow_allowed(batch: RowBatch, row: int, query: int, key: int) -> bool:
    valid = batch.valid_token_count[row]
    return bool(key <= query < valid and batch.doc_ids[row, query] == batch.doc_ids[row, key])


def tensors(batch: RowBatch) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(batch.doc_ids), torch.from_numpy(batch.valid_token_count)


@given(lengths=DOCUMENT_LENGTHS, other=DOCUMENT_LENGTHS, pad=st.integers(0, 4))
def test_the_dense_mask_is_the_rule_for_every_pair(lengths: list[int], other: list[int], pad: int) -> None:
    batch = batch_with(lengths, other, pad)
    mask = document_mask(*tensors(batch))
    size = batch.input_ids.shape[1]
    for row in range(2):
        expected = [[slow_allowed(batch, row, i, j) for j in range(size)] for i in range(size)]
        assert mask[row, 0].tolist() == expected


@given(lengths=DOCUMENT_LENGTHS, other=DOCUMENT_LENGTHS, pad=st.integers(0, 4))
def test_a_layout_cuts_rows_at_documents_and_padding(lengths: list[int], other: list[int], pad: int) -> None:
    batch = batch_with(lengths, other, pad)
    layout = document_layout(batch.doc_ids, batch.valid_token_count)
    size = batch.input_ids.shape[1]
    expected = []
    for row in (lengths, other):
        expected += [(n, False) for n in row] + ([(size - sum(row), True)] if sum(row) < size else [])
    assert list(zip(layout.lengths, layout.padding, strict=True)) == expected
    positions = [position for length, _ in expected for position in range(length)]
    assert layout.positions.ravel().tolist() == positions


def flexible(batch: RowBatch, softcap: float = 0.0) -> Attend:
    return flex_document_attention(
        batch, document_layout(batch.doc_ids, batch.valid_token_count), torch.device("cpu"), softcap
    )


def random_heads(batch: RowBatch, *heads: int) -> list[torch.Tensor]:
    """Queries, keys, values, … of so many heads, each 4 wide."""
    generator = torch.Generator().manual_seed(7)
    return [torch.randn((*batch.input_ids.shape, count, 4), generator=generator) for count in heads]


def largest_sums(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, weights: torch.Tensor) -> list[float]:
    """Bounds of the sums on the way to the output and to the gradients of queries, keys and values.

    The gradient of a score is a sum of products of `weights` and values. Less its mean it is multiplied by a key or a
    query. A document of one token has the gradient 0 after all of that.
    """
    gradient = (
        query.shape[-1] * weights.abs().max() * value.abs().max() * torch.maximum(query.abs().max(), key.abs().max())
    )
    return [1.0, *[float(gradient)] * 3]


@pytest.mark.parametrize(("groups", "softcap"), [(4, 0.0), (2, 0.0), (1, 3.0)])
@settings(max_examples=12)
@given(lengths=DOCUMENT_LENGTHS, other=DOCUMENT_LENGTHS, pad=st.integers(0, 4))
@example(lengths=[1], other=[1], pad=0)
def test_blocks_equal_the_dense_mask_forward_and_backward(
    groups: int, softcap: float, lengths: list[int], other: list[int], pad: int
) -> None:
    batch = batch_with(lengths, other, pad)
    blocks = block_attention(document_layout(batch.doc_ids, batch.valid_token_count), softcap)
    found = []
    *qkv, weights = random_heads(batch, 4, groups, groups, 4)
    for attend in (blocks, dense_attention(*tensors(batch), softcap)):
        leaves = [tensor.clone().requires_grad_() for tensor in qkv]
        out = attend(*leaves)
        (out * weights).sum().backward()
        found.append([out, *(leaf.grad for leaf in leaves)])
    for ours, plain, largest in zip(*found, largest_sums(*qkv, weights), strict=True):
        assert_equal_up_to_rounding(ours, plain, terms=2 * batch.input_ids.shape[1], largest=largest)


def test_no_gradient_reaches_another_document() -> None:
    batch = batch_of([[2, 5, 6, 7], [2, 8, 9]], row_tokens=9)
    for attend in (
        block_attention(document_layout(batch.doc_ids, batch.valid_token_count)),
        dense_attention(*tensors(batch)),
    ):
        leaves = [torch.randn(1, 9, 2, 4, requires_grad=True) for _ in range(3)]
        attend(*leaves)[:, 4:7].square().sum().backward()
        for leaf in leaves:
            assert leaf.grad is not None
            assert bool((leaf.grad[:, :4] == 0).all()) and bool((leaf.grad[:, 7:] == 0).all())


def test_the_score_of_another_document_is_exactly_minus_infinity() -> None:
    batch = batch_of([[2, 5, 6], [2, 8]], row_tokens=6)
    mask = document_mask(*tensors(batch))
    scores = torch.zeros(1, 1, 6, 6).masked_fill(~mask, float("-inf"))
    probabilities = scores[:, :, :5].softmax(-1)
    assert bool((scores[0, 0, 3:5, :3] == float("-inf")).all())
    assert bool((probabilities[0, 0, 3:5, :3] == 0).all())


@settings(max_examples=8)
@given(lengths=DOCUMENT_LENGTHS, other=DOCUMENT_LENGTHS)
def test_the_flex_rule_is_the_dense_mask(lengths: list[int], other: list[int]) -> None:
    batch = batch_with(lengths, other, 2)
    doc_ids, valid = tensors(batch)
    size = batch.input_ids.shape[1]
    found = create_mask(document_mask_mod(doc_ids, valid), 2, 1, size, size, device="cpu")
    assert torch.equal(found, document_mask(doc_ids, valid))


@settings(max_examples=25)
@given(
    lengths=st.lists(st.integers(1, 300), min_size=1, max_size=6),
    other=st.lists(st.integers(1, 300), min_size=1, max_size=6),
    pad=st.integers(0, 200),
)
def test_computed_blocks_equal_those_of_the_mask_rule(lengths: list[int], other: list[int], pad: int) -> None:
    batch = batch_with(lengths, other, pad)
    size = batch.input_ids.shape[1]
    layout = document_layout(batch.doc_ids, batch.valid_token_count)
    found = document_block_mask(batch, layout, torch.device("cpu"))
    plain = create_block_mask(document_mask_mod(*tensors(batch)), 2, None, size, size, device="cpu")
    assert torch.equal(found.to_dense(), plain.to_dense())
    assert torch.equal(found.kv_num_blocks, plain.kv_num_blocks)
    assert found.full_kv_num_blocks is not None and plain.full_kv_num_blocks is not None
    assert torch.equal(found.full_kv_num_blocks, plain.full_kv_num_blocks)


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_flex_attention_equals_the_dense_mask() -> None:
    batch = batch_of([[2] + [5] * 40, [2] + [6] * 70], [[2] + [7] * 127], row_tokens=128)
    generator = torch.Generator().manual_seed(3)
    qkv = [torch.randn(2, 128, 2, 16, generator=generator) for _ in range(3)]
    with torch.no_grad():
        flex = flexible(batch)(*qkv)
        assert_equal_up_to_rounding(flex, dense_attention(*tensors(batch))(*qkv), terms=128)


def test_a_cap_on_scores_is_the_formula_and_comes_before_the_mask() -> None:
    batch = batch_of([[2, 5, 6, 7], [2, 8, 9]], row_tokens=9)
    query, key, value = random_heads(batch, 2, 2, 2)
    allowed = document_mask(*tensors(batch))[0, 0]
    scores = torch.einsum("bqhd,bkhd->bhqk", 5 * query, key) / 2
    shares = torch.softmax((1.5 * torch.tanh(scores / 1.5)).masked_fill(~allowed, -torch.inf), -1).nan_to_num()
    expected = torch.einsum("bhqk,bkhd->bqhd", shares, value)
    found = dense_attention(*tensors(batch), 1.5)(5 * query, key, value)
    torch.testing.assert_close(found, expected)
    with torch.no_grad():
        torch.testing.assert_close(flexible(batch, 1.5)(5 * query, key, value), expected)


def test_flex_attention_shares_keys_among_heads_as_the_others_do() -> None:
    batch = batch_of([[2, 5, 6, 7], [2, 8, 9]], row_tokens=9)
    heads = random_heads(batch, 4, 2, 2)
    with torch.no_grad():
        found = flexible(batch)(*heads)
    torch.testing.assert_close(found, dense_attention(*tensors(batch))(*heads))


def test_a_dense_mask_beyond_the_cap_is_rejected() -> None:
    doc_ids = torch.from_numpy(np.zeros((1, 8193), np.int32))
    with pytest.raises(SpecError, match="at most 8192"):
        document_mask(doc_ids, torch.tensor([8193]))
