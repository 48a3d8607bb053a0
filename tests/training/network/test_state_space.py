"""The state-space mixer: it is the recurrence that it says, and nothing crosses a document boundary."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.network.state_space import StateSpace, StateSpaceConfig, scan
from tests.training.rounding import assert_equal_up_to_rounding

HIDDEN = 16


def recurrence(values: Tensor, log_decays: Tensor, keys: Tensor, queries: Tensor, documents: Tensor) -> Tensor:
    """The definition, token by token."""
    batch, tokens, heads, width = values.shape
    state, read = torch.zeros(batch, heads, keys.shape[-1], width, dtype=values.dtype), []
    for at in range(tokens):
        if at:
            state = state * (documents[:, at] == documents[:, at - 1])[:, None, None, None]
        state = state * log_decays[:, at].exp()[..., None, None]
        state = state + torch.einsum("bn,bhp->bhnp", keys[:, at], values[:, at])
        read.append(torch.einsum("bn,bhnp->bhp", queries[:, at], state))
    return torch.stack(read, 1)


def drawn(tokens: int, lengths: list[int]) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(tokens)
    values, decays, keys, queries = (
        torch.randn(1, tokens, *shape, generator=generator, dtype=torch.float64) for shape in ((2, 3), (2,), (4,), (4,))
    )
    documents = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))[None]
    return values, -decays.abs(), keys, queries, documents


@given(st.lists(st.integers(1, 150), min_size=1, max_size=6))
def test_the_scan_is_the_recurrence_wherever_documents_begin(lengths: list[int]) -> None:
    given_ = drawn(sum(lengths), lengths)
    torch.testing.assert_close(scan(*given_), recurrence(*given_))


def test_a_decay_to_zero_in_one_step_gives_finite_gradients() -> None:
    values, decays, keys, queries, documents = drawn(128, [128])
    decays = decays * 1e6
    values.requires_grad_()
    read = scan(values, decays, keys, queries, documents)
    torch.testing.assert_close(read, recurrence(values, decays, keys, queries, documents))
    read.sum().backward()
    assert values.grad is not None and values.grad.isfinite().all()


def mixer(*, fast: bool = False) -> StateSpace:
    torch.manual_seed(0)
    return StateSpace(StateSpaceConfig(every=1, state=8, fast_convolution=fast), HIDDEN, 0.3, 0.3)


def packed(first: int, second: int) -> Tensor:
    return torch.cat((torch.arange(first), torch.arange(second)))[None]


@pytest.mark.parametrize("fast", [False, True])
def test_only_the_fast_convolution_crosses_documents(fast: bool) -> None:
    x = torch.randn(1, 96, HIDDEN, generator=torch.Generator().manual_seed(1), requires_grad=True)
    mixer(fast=fast)(x, packed(40, 56))[0, 40:].sum().backward()
    assert x.grad is not None
    heard = x.grad[0, :40].abs().sum(-1).nonzero().flatten().tolist()
    assert heard == ([37, 38, 39] if fast else [])


def test_a_document_has_the_same_output_packed_and_alone() -> None:
    x, made = torch.randn(1, 96, HIDDEN, generator=torch.Generator().manual_seed(1)), mixer()
    with torch.no_grad():
        together, alone = made(x, packed(32, 64)), made(x[:, 32:], torch.arange(64)[None])
    assert_equal_up_to_rounding(together[:, 32:], alone, terms=96)


def test_every_parameter_trains() -> None:
    made = mixer()
    made(torch.randn(1, 32, HIDDEN), packed(16, 16)).square().sum().backward()
    assert not [name for name, each in made.named_parameters() if each.grad is None or not each.grad.any()]


def test_every_second_block_is_every_second_block() -> None:
    assert [StateSpaceConfig(every=2).mixes(block) for block in range(4)] == [False, True, False, True]
    assert not StateSpaceConfig().mixes(0)


@pytest.mark.parametrize("wrong", [{"every": -1}, {"state": 0}])
def test_a_mixer_without_a_state_is_rejected(wrong: dict[str, int]) -> None:
    with pytest.raises(SpecError, match="state space"):
        StateSpaceConfig(**wrong)
