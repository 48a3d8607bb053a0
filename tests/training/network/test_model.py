"""The model: nothing crosses a document boundary, and the loss is the mean that it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import CONTEXT_ROLE, SYNTHETIC_ROLE
from megacpp_assets.contract.recipe.training import STRUCTURE_COMPONENTS
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.choose import Attend
from megacpp_assets.training.network.loss import CHUNK_TOKENS, masked_cross_entropy
from megacpp_assets.training.network.model import GPT, ModelConfig, model_input, padded
from megacpp_assets.training.network.structure import StructureConfig
from tests.training.rounding import assert_equal_up_to_rounding
from tests.training.world import batch_of

CPU = torch.device("cpu")
ROW = 40
B = [2, *range(20, 31)]


def model(vocabulary: int = 100) -> GPT:
    torch.manual_seed(5)
    made = GPT(ModelConfig(vocabulary, 2, 32, 4, StructureConfig(STRUCTURE_COMPONENTS, 8)))
    assert made.structure is not None
    torch.nn.init.normal_(made.structure.up)
    return made


def logits(batch: RowBatch) -> torch.Tensor:
    with torch.no_grad():
        return model().logits(model_input(batch, CPU))


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_a_token_outside_of_the_root_has_the_recipes_loss_weight(weight: float) -> None:
    made, batch = model(), batch_of([[2, 5, 6, 7, 8]], row_tokens=ROW)
    roles = np.zeros_like(batch.roles)
    roles[0, 1:3] = (CONTEXT_ROLE, SYNTHETIC_ROLE)
    given = model_input(replace(batch, roles=roles), CPU, weight)
    assert given.loss_weights[0, :5].tolist() == [weight, weight, 1, 1, 0]
    losses = cross_entropy(made.logits(given)[0, :4], given.target_ids[0, :4], reduction="none")
    assert torch.allclose(made(given), weight * losses[:2].sum() + losses[2:].sum(), rtol=1e-5)


def test_a_model_without_structure_has_no_table_and_ignores_the_channels() -> None:
    torch.manual_seed(5)
    made, batch = GPT(ModelConfig(100, 1, 32, 4, StructureConfig(()))), batch_of([[2, 5, 6, 7, 8]], row_tokens=ROW)
    assert not [name for name, _ in made.named_parameters() if "structure" in name]
    other = {name: values + 1 for name, values in batch.structure.items()}
    first, second = (made.logits(model_input(b, CPU)) for b in (batch, replace(batch, structure=other)))
    assert torch.equal(first, second)


def test_the_documents_before_change_no_bit_of_a_documents_logits() -> None:
    one = logits(batch_of([[2, *[7] * 15], B], row_tokens=ROW))
    two = logits(batch_of([[2, *range(60, 75)], B], row_tokens=ROW))
    three = logits(batch_of([[2, *[9] * 7], [2, *[11] * 7], B], row_tokens=ROW))
    assert torch.equal(one[0, 16:28], two[0, 16:28])
    assert torch.equal(one[0, 16:28], three[0, 16:28])
    assert not torch.equal(one[0, :16], two[0, :16])


def test_these_tests_detect_attention_that_sees_other_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaky(*_: object, **__: object) -> Attend:
        def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, _bias: None) -> torch.Tensor:
            q, k, v = (tensor.transpose(1, 2) for tensor in (query, key, value))
            return scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

        return attend

    monkeypatch.setattr("megacpp_assets.training.network.model.attention_for", leaky)
    with pytest.raises(AssertionError):
        test_the_documents_before_change_no_bit_of_a_documents_logits()
    with pytest.raises(AssertionError):
        test_the_first_token_of_a_document_sees_only_itself()


def test_the_documents_after_change_no_bit_of_a_documents_logits() -> None:
    one = logits(batch_of([B, [2, *[7] * 15]], row_tokens=ROW))
    two = logits(batch_of([B], row_tokens=ROW))
    assert torch.equal(one[0, : len(B)], two[0, : len(B)])


def test_a_document_packed_anywhere_scores_as_it_does_alone() -> None:
    packed = logits(batch_of([[2, *[7] * 15], B], [B], row_tokens=ROW))
    assert_equal_up_to_rounding(packed[0, 16:28], packed[1, :12], terms=4 * ROW)


def test_the_first_token_of_a_document_sees_only_itself() -> None:
    out = logits(batch_of([[2, 5, 6], [2, 9], [2, 11, 12]], row_tokens=ROW))
    assert torch.equal(out[0, 0], out[0, 3]) and torch.equal(out[0, 0], out[0, 5])


def test_later_tokens_do_not_change_earlier_ones() -> None:
    one = logits(batch_of([[2, 5, 6, 7, 8]], row_tokens=ROW))
    two = logits(batch_of([[2, 5, 6, 90, 91]], row_tokens=ROW))
    assert torch.equal(one[0, :3], two[0, :3]) and not torch.equal(one[0, 3], two[0, 3])


def test_the_order_of_tokens_matters() -> None:
    one = logits(batch_of([[2, 5, 6, 7]], row_tokens=ROW))
    two = logits(batch_of([[2, 6, 5, 7]], row_tokens=ROW))
    assert not torch.allclose(one[0, 3], two[0, 3])


def test_logits_cover_the_vocabulary_and_not_its_padding() -> None:
    made = model(vocabulary=100)
    assert made.embedding.shape == (128, 32) and padded(131_072) == 131_072
    assert made.logits(model_input(batch_of([B], row_tokens=ROW), CPU)).shape == (1, ROW, 100)


def test_the_loss_is_the_sum_over_the_masked_tokens_only() -> None:
    batch = model_input(batch_of([[2, 5, 6], [2, 9, 8, 7]], [B], row_tokens=ROW), CPU)
    made = model()
    expected = cross_entropy(made.logits(batch)[batch.loss_mask], batch.target_ids[batch.loss_mask], reduction="sum")
    assert int(batch.loss_mask.sum()) == 2 + 3 + 11
    torch.testing.assert_close(made(batch), expected)


def test_the_chunked_loss_and_its_gradients_are_torchs() -> None:
    torch.manual_seed(1)
    tokens = 2 * CHUNK_TOKENS["cpu"] + 77
    hidden, weight = torch.randn(tokens, 16), torch.randn(50, 16)
    targets, mask = torch.randint(0, 50, (tokens,)), torch.rand(tokens) < 0.7
    ours = [hidden.clone().requires_grad_(), weight.clone().requires_grad_()]
    plain = [hidden.clone().requires_grad_(), weight.clone().requires_grad_()]
    loss = masked_cross_entropy(*ours, targets, mask)
    reference = cross_entropy((plain[0] @ plain[1].t())[mask], targets[mask], reduction="sum")
    torch.testing.assert_close(loss, reference)
    (loss * 0.3).backward()
    (reference * 0.3).backward()
    for a, b in zip(ours, plain, strict=True):
        assert a.grad is not None and b.grad is not None
        assert_equal_up_to_rounding(a.grad, b.grad, terms=tokens)


def test_tokens_that_weigh_nothing_are_not_scored_and_get_no_gradient() -> None:
    hidden, weight = torch.randn(400, 16), torch.randn(50, 16)
    hidden[::2] = torch.nan  # a token that is scored would spread it
    hidden, weight = hidden.requires_grad_(), weight.requires_grad_()
    targets, weights = torch.arange(400) % 50, torch.arange(400) % 2 * 0.5
    loss = masked_cross_entropy(hidden, weight, targets, weights)
    loss.backward()
    reference = cross_entropy(hidden.detach()[1::2] @ weight.detach().t(), targets[1::2], reduction="sum") * 0.5
    torch.testing.assert_close(loss.detach(), reference)
    assert hidden.grad is not None and not hidden.grad[::2].any() and bool(hidden.grad[1::2].any())
    nothing = masked_cross_entropy(hidden, weight, targets, torch.zeros(400))
    nothing.backward()
    assert nothing.item() == 0


def test_the_loss_of_16_bit_states_is_summed_in_32_bits() -> None:
    generator = torch.Generator().manual_seed(0)
    hidden, weight = (torch.randn(size, 8, generator=generator).bfloat16() for size in (4000, 50))
    targets, mask = torch.arange(4000) % 50, torch.ones(4000)
    found = masked_cross_entropy(hidden, weight, targets, mask)
    exact = cross_entropy(hidden.double() @ weight.double().t(), targets, reduction="sum")
    assert found.dtype == torch.float32 and found.item() == pytest.approx(exact.item(), rel=2e-3)


def test_gradients_reach_every_parameter() -> None:
    made = model()
    made(model_input(batch_of([B, B], row_tokens=ROW, structure_seed=1), CPU)).backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None and bool((parameter.grad != 0).any()), name


def test_a_hidden_size_that_heads_do_not_divide_is_rejected() -> None:
    with pytest.raises(SpecError, match="hidden"):
        ModelConfig(100, 1, 30, 4, StructureConfig())
