"""Relation bias and enricher: they know how chunks relate, and never what another document or the future holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.blocks import block_attention
from megacpp_assets.training.network.attention.choose import attention_for
from megacpp_assets.training.network.attention.flex import flex_document_attention
from megacpp_assets.training.network.attention.layout import document_layout
from megacpp_assets.training.network.chunks import ChunkBias, ChunkInput, chunk_ids_of_bounds, chunk_input
from megacpp_assets.training.network.graph import NEIGHBOURS, before, gathered_sums, ranked_sums
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.optimizer import optimizer_for
from tests.training.chunked import with_chunks
from tests.training.rounding import assert_equal_up_to_rounding
from tests.training.world import batch_of, tiny_recipe

CPU = torch.device("cpu")
FLAGS = [{"relation_bias": True}, {"tree_steps": 3}]
ROW = 48


def some_batch(seed: int = 0) -> RowBatch:
    documents = [[2] + [5 + n % 7 for n in range(length - 1)] for length in (17, 9, 20)]
    return with_chunks(batch_of(documents, documents[::-1], row_tokens=ROW, structure_seed=seed), seed)


def awake(**flags: object) -> GPT:
    """A model all of whose parts add something."""
    torch.manual_seed(1)
    model = GPT(model_config(tiny_recipe(**flags), 100))
    for parameter in model.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter)
    return model


def chunks_of(batch: RowBatch) -> ChunkInput:
    assert batch.chunks is not None
    return chunk_input(batch.chunks, CPU)


def earlier_and_state() -> tuple[torch.Tensor, torch.Tensor]:
    """Chunks of which some relate to more than are heard."""
    generator = torch.Generator().manual_seed(3)
    relations = torch.rand(2, 9, 64, 64, generator=generator) < 0.4
    return before(relations), torch.randn(2, 64, 8, generator=generator)


@pytest.mark.parametrize("seed", range(5))
def test_chunks_of_tokens_follow_from_bounds_in_any_order(seed: int) -> None:
    batch = some_batch(seed)
    assert batch.chunks is not None
    starts, ends = (torch.from_numpy(each).long() for each in (batch.chunks.starts, batch.chunks.ends))
    ids = chunks_of(batch).ids
    assert torch.equal(chunk_ids_of_bounds(starts, ends, ROW), ids)
    order = torch.randperm(starts.shape[1], generator=torch.Generator().manual_seed(seed))
    moved = torch.cat([order.argsort(), torch.tensor([starts.shape[1]])])[ids]
    assert torch.equal(chunk_ids_of_bounds(starts[:, order], ends[:, order], ROW), moved)


def test_both_ways_to_sum_neighbours_give_the_same_numbers_and_gradients() -> None:
    earlier, state = earlier_and_state()
    assert earlier.any(1).sum(-1).max() > 2 * NEIGHBOURS
    found = []
    for sums in (ranked_sums, gathered_sums):
        leaf = state.clone().requires_grad_()
        out = sums(earlier, leaf)
        out.square().sum().backward()
        found.append((out, leaf.grad))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_a_chunk_receives_messages_from_its_first_related_chunks_only() -> None:
    earlier, state = earlier_and_state()
    sums = ranked_sums(earlier, state)
    for chunk in (0, 5, 63):
        heard = earlier[1].any(0)[chunk].nonzero()[:NEIGHBOURS, 0]
        assert all(other < chunk for other in heard.tolist())
        for relation in range(6):
            expected = sum((state[1, j] for j in heard if earlier[1, relation, chunk, j]), torch.zeros(8))
            torch.testing.assert_close(sums[1, relation, chunk], expected)


def test_the_tpu_path_has_no_operation_that_is_slow_on_a_tpu() -> None:
    batch = some_batch()
    model = awake(relation_bias=True, tree_steps=2)
    given = model_input(batch, CPU, one_graph=True)
    assert given.chunks is not None and model.graph is not None and model.relation_bias is not None
    x = torch.randn(2, ROW, 16)
    seen: set[str] = set()

    class Listening(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.add(func.__name__.partition(".")[0])
            return func(*args, **(kwargs or {}))

    with Listening():
        (model.graph(x, given.chunks).sum() + model.relation_bias(given.chunks).of_tokens().sum()).backward()
    assert {"bmm", "cumsum"} <= seen
    bad = ("topk", "sort", "scatter", "gather", "index", "searchsorted", "nonzero", "one_hot")
    assert not [name for name in seen if any(part in name for part in bad)]


@pytest.mark.parametrize("flags", FLAGS)
def test_it_adds_nothing_at_first_and_trains(flags: dict[str, object]) -> None:
    torch.manual_seed(0)
    recipe = tiny_recipe(structure_components="none", **flags)
    model, batch = GPT(model_config(recipe, 100)), model_input(some_batch(), CPU)
    plain = GPT(model_config(tiny_recipe(structure_components="none"), 100))
    plain.load_state_dict({name: tensor for name, tensor in model.state_dict().items() if name in plain.state_dict()})
    torch.testing.assert_close(model(batch), plain(batch))
    part = {name: each.detach().clone() for name, each in model.named_parameters() if name not in plain.state_dict()}
    assert part
    optimizer = optimizer_for(recipe, dict(model.named_parameters()))
    for _ in range(3):
        model(batch).backward()
        optimizer.step(0.01)
        optimizer.clear()
    for name, before_training in part.items():
        assert not torch.equal(model.get_parameter(name), before_training), name


@pytest.mark.parametrize("one_graph", [False, True])
@pytest.mark.parametrize("flags", FLAGS)
def test_no_gradient_reaches_another_document_nor_the_future(flags: dict[str, object], one_graph: bool) -> None:
    model = awake(layers=2, **flags)
    given = model_input(some_batch(), CPU, one_graph=one_graph)
    vectors = torch.nn.functional.embedding(given.input_ids, model.embedding).detach().requires_grad_()
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            torch.nn.functional, "embedding", lambda ids, table: vectors if table is model.embedding else table[ids]
        )
        hidden = model.hidden(given)
    for token in (20, 25, 40):
        (found[token],) = torch.autograd.grad(hidden[0, token].square().sum(), vectors, retain_graph=True)
    for token, first in ((20, 17), (25, 17), (40, 26)):
        assert bool(found[token][0, first : token + 1].any())
        assert bool((found[token][0, :first] == 0).all())
        assert bool((found[token][0, token + 1 :] == 0).all())
        assert bool((found[token][1] == 0).all())


@pytest.mark.parametrize("flags", FLAGS)
def test_relations_change_the_logits(flags: dict[str, object]) -> None:
    model, batch = awake(**flags), some_batch()
    other = replace(batch, chunks=with_chunks(batch, 9).chunks)
    assert not torch.allclose(model.hidden(model_input(batch, CPU)), model.hidden(model_input(other, CPU)))


@pytest.mark.parametrize("softcap", [0.0, 4.0])
def test_every_backend_adds_the_bias_of_its_chunks_to_a_score(softcap: float) -> None:
    batch = some_batch()
    layout = document_layout(batch.doc_ids, batch.valid_token_count)
    generator = torch.Generator().manual_seed(2)
    query, key, value = (torch.randn(2, ROW, 2, 4, generator=generator) for _ in range(3))
    values = torch.randn(2, 2, 128, 128, generator=generator)
    chunks = chunks_of(batch)
    found = []
    for attend in (
        block_attention(layout, softcap),
        attention_for(batch, layout, CPU, softcap, one_graph=True),
        flex_document_attention(batch, layout, CPU, softcap),
    ):
        leaf = values.clone().requires_grad_(not found or len(found) == 1)
        with torch.set_grad_enabled(leaf.requires_grad):
            out = attend(query, key, value, ChunkBias(leaf, chunks))
        if leaf.requires_grad:
            out.square().sum().backward()
        found.append((out.detach(), leaf.grad))
    plain = block_attention(layout, softcap)(query, key, value)
    assert not torch.allclose(found[0][0], plain)
    for out, gradient in found[1:]:
        assert_equal_up_to_rounding(out, found[0][0], terms=ROW)
        if gradient is not None:
            assert_equal_up_to_rounding(gradient, found[0][1], terms=2 * ROW)


def test_a_token_of_no_chunk_has_no_bias() -> None:
    chunks = ChunkInput(torch.tensor([[0, 128, 1]]), torch.zeros(1, 9, 128, 128, dtype=torch.bool))
    values = torch.zeros(1, 1, 128, 128)
    values[0, 0, :2, :2] = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert ChunkBias(values, chunks).of_tokens()[0, 0].tolist() == [[1, 0, 2], [0, 0, 0], [3, 0, 4]]


@pytest.mark.parametrize("flags", FLAGS)
def test_a_batch_without_chunks_is_rejected(flags: dict[str, object]) -> None:
    batch = replace(some_batch(), chunks=None)
    with pytest.raises(SpecError, match="open the rows with their chunks"):
        awake(**flags)(model_input(batch, CPU))


def test_a_negative_number_of_message_steps_is_rejected() -> None:
    with pytest.raises(SpecError, match="tree_steps"):
        tiny_recipe(tree_steps=-1)


def test_a_relation_bias_is_rejected_if_no_block_attends() -> None:
    with pytest.raises(SpecError, match="relation_bias"):
        tiny_recipe(relation_bias=True, state_space_every=1)
    assert tiny_recipe(relation_bias=True, state_space_every=2).needs_chunks
