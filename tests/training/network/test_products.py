"""Products of the model: oneDNN's in float32 on a CPU, torch's own elsewhere, with the same values and gradients."""

from collections.abc import Callable

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from megacpp_assets.training.network import products
from tests.training.rounding import assert_equal_up_to_rounding

SIZE = st.integers(1, 70)


def _drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@given(SIZE, SIZE, SIZE, SIZE)
def test_linear_has_the_values_and_gradients_of_torch(rows: int, tokens: int, inner: int, outer: int) -> None:
    x, weight = _drawn(rows, tokens, inner, seed=1), _drawn(outer, inner, seed=2)
    by = _drawn(rows, tokens, outer, seed=3)
    found, expected = (_with_gradients(each, x, weight, by) for each in (products.linear, functional.linear))
    for one, other, sums in zip(found, expected, (inner, outer, rows * tokens), strict=True):
        assert one.shape == other.shape
        assert_equal_up_to_rounding(one, other, terms=sums)


def _with_gradients(
    linear: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    weight: torch.Tensor,
    by: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    result = linear(x, weight)
    result.backward(by)
    assert x.grad is not None
    assert weight.grad is not None
    return result.detach(), x.grad, weight.grad


@given(SIZE, SIZE, SIZE)
def test_a_product_has_the_values_of_torch_also_of_transposed_factors(rows: int, inner: int, columns: int) -> None:
    left, right = _drawn(inner, rows, seed=1).t(), _drawn(inner, columns, seed=2).t()
    assert_equal_up_to_rounding(products.product(left, right), left @ right.t(), terms=inner)


def test_half_precision_and_autocast_keep_the_dtype_of_torch() -> None:
    x, weight = _drawn(3, 8, seed=1), _drawn(5, 8, seed=2)
    assert products.linear(x.bfloat16(), weight.bfloat16()).dtype == torch.bfloat16
    with torch.autocast("cpu", torch.bfloat16):
        assert products.linear(x, weight).dtype == torch.bfloat16


def test_weights_that_learn_nothing_get_no_gradient() -> None:
    x, weight = _drawn(3, 8, seed=1).requires_grad_(), _drawn(5, 8, seed=2)
    products.linear(x, weight).sum().backward()
    assert x.grad is not None
    assert weight.grad is None


def test_no_rows_have_no_products() -> None:
    assert products.product(torch.empty(0, 8), _drawn(5, 8, seed=2)).shape == (0, 5)
    assert products.linear(torch.empty(2, 0, 8), _drawn(5, 8, seed=2)).shape == (2, 0, 5)
