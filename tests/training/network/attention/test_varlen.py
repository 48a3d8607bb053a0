"""Attention by `cu_seqlens` equals the dense mask, forward and backward, by every kernel that runs here."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.training.network.attention import varlen
from megacpp_assets.training.network.attention.choose import attention_for
from megacpp_assets.training.network.attention.dense import dense_attention
from megacpp_assets.training.network.attention.layout import document_layout
from megacpp_assets.training.network.attention.varlen import by_sequence, flash_kernel, kernel_for, varlen_attention
from megacpp_assets.training.network.chunks import ChunkBias
from tests.training.network.attention.test_attention import (
    DOCUMENT_LENGTHS,
    batch_with,
    largest_sums,
    random_heads,
    tensors,
)
from tests.training.rounding import assert_equal_up_to_rounding
from tests.training.world import tiny_recipe

CPU = torch.device("cpu")


def plain_flash(q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, **how: Any) -> Any:
    """What the documentation of `flash_attn_varlen_func` says, a sequence at a time."""
    bounds = cu_seqlens_q.tolist()
    assert cu_seqlens_q.dtype == torch.int32 and bounds == cu_seqlens_k.tolist()
    longest = max(end - begin for begin, end in pairwise(bounds))
    assert how == {"max_seqlen_q": longest, "max_seqlen_k": longest, "causal": True, "deterministic": True}
    shared = q.shape[1] // k.shape[1]
    parts = []
    for begin, end in pairwise(bounds):
        one = (q[begin:end], *(each[begin:end].repeat_interleave(shared, 1) for each in (k, v)))
        parts.append(scaled_dot_product_attention(*(each.transpose(0, 1) for each in one), is_causal=True))
    return torch.cat(parts, 1).transpose(0, 1)


@pytest.mark.parametrize("kernel", [by_sequence, flash_kernel(plain_flash)], ids=["by sequence", "flash"])
@pytest.mark.parametrize("groups", [4, 2])
@settings(max_examples=12, deadline=None)
@given(lengths=DOCUMENT_LENGTHS, other=DOCUMENT_LENGTHS, pad=st.integers(0, 4))
@example(lengths=[1], other=[1], pad=0)
def test_varlen_equals_the_dense_mask_forward_and_backward(
    kernel: varlen.Varlen, groups: int, lengths: list[int], other: list[int], pad: int
) -> None:
    batch = batch_with(lengths, other, pad)
    *qkv, weights = random_heads(batch, 4, groups, groups, 4)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(varlen, "kernel_for", lambda device, dtype: kernel)
        for attend in (varlen_attention(batch, CPU), dense_attention(*tensors(batch))):
            leaves = [tensor.clone().requires_grad_() for tensor in qkv]
            out = attend(*leaves)
            (out * weights).sum().backward()
            found.append([out, *(leaf.grad for leaf in leaves)])
    size = batch.input_ids.shape[1]
    for one, reference, largest in zip(*found, largest_sums(*qkv, weights), strict=True):
        assert_equal_up_to_rounding(one, reference, terms=4 * size, largest=largest)


def test_what_a_document_attends_to_does_not_depend_on_its_neighbours() -> None:
    batch = batch_with([5, 7], [12], 0)
    query, key, value = random_heads(batch, 4, 4, 4)
    attend = varlen_attention(batch, CPU)
    before = attend(query, key, value)
    key[0, 5:], value[0, 5:] = 1e6, 1e6
    assert torch.equal(attend(query, key, value)[0, :5], before[0, :5])


def test_the_recipe_names_the_backend() -> None:
    batch = batch_with([5, 7], [9], 2)
    layout = document_layout(batch.doc_ids, batch.valid_token_count)
    query, key, value = random_heads(batch, 4, 2, 2)
    auto, by_varlen, by_mask = (
        attention_for(batch, layout, CPU, kind=kind)(query, key, value) for kind in ("auto", "varlen", "dense")
    )
    assert_equal_up_to_rounding(by_varlen, auto, terms=56)
    assert_equal_up_to_rounding(by_mask, auto, terms=56)


def test_16_bit_kernels_are_used_on_cuda_only() -> None:
    assert kernel_for("cpu", torch.bfloat16) is by_sequence and kernel_for("cuda", torch.float32) is by_sequence


def test_a_relation_bias_has_no_varlen_form() -> None:
    batch = batch_with([3], [3], 0)
    bias = ChunkBias(torch.zeros(0), None)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="varlen attention; expected no relation bias"):
        varlen_attention(batch, CPU)(*random_heads(batch, 4, 4, 4), bias)


@pytest.mark.parametrize("changes", [{"softcap": 5.0}, {"relation_bias": True}, {"compiled": True}])
def test_options_without_a_varlen_form_are_rejected(changes: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=rf"training.{next(iter(changes))}; .*where training.attention is varlen"):
        tiny_recipe(attention="varlen", **changes)


def test_a_dense_mask_of_long_rows_is_rejected_with_the_recipe() -> None:
    changes = ['curriculum=["4k", "16k"]', "training.attention=dense"]
    with pytest.raises(SpecError, match=r"training\.attention; expected auto or varlen for rows above 8,192 tokens"):
        load_recipe("sample", changes)
