"""Platform embedding: the sum of the vectors of a document's platforms, for its tokens and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS, PLATFORM_IDS
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.network.platforms import PlatformEmbedding, PlatformInput
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.optimizer import optimizer_for
from tests.training.platformed import with_platforms
from tests.training.world import batch_of, tiny_recipe

CPU = torch.device("cpu")
ROW = 48
DOCUMENTS = [[2] + [5 + n % 7 for n in range(length - 1)] for length in (17, 9, 20)]


def some_batch(seed: int = 3) -> RowBatch:
    return with_platforms(batch_of(DOCUMENTS, DOCUMENTS[::-1], row_tokens=ROW), seed)


def awake() -> GPT:
    """A model whose platforms add something."""
    torch.manual_seed(1)
    model = GPT(model_config(tiny_recipe(platform_embedding=True), 100))
    assert model.platforms is not None
    torch.nn.init.normal_(model.platforms.table)
    return model


_LISTS = st.lists(st.sets(st.integers(1, PLATFORM_IDS - 1), max_size=MAX_PLATFORM_IDS), min_size=1, max_size=5)


@settings(max_examples=30, deadline=None)
@given(lists=_LISTS, numbers=st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_a_token_gets_torchs_embedding_bag_of_its_documents_platforms(
    lists: list[set[int]], numbers: list[int]
) -> None:
    ids = torch.zeros(1, len(lists), MAX_PLATFORM_IDS, dtype=torch.long)
    for line, listed in zip(ids[0], lists, strict=True):
        line[: len(listed)] = torch.tensor(sorted(listed), dtype=torch.long)
    ours = PlatformEmbedding(8)
    torch.nn.init.normal_(ours.table)
    bag = torch.nn.EmbeddingBag.from_pretrained(ours.table.detach(), freeze=False, mode="sum", padding_idx=0)
    documents = torch.tensor([numbers]) % len(lists)
    found, expected = ours(PlatformInput(ids, documents)), bag(ids[0])[documents]
    torch.testing.assert_close(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(ours.table.grad, bag.weight.grad)


def test_it_adds_nothing_at_first_and_trains_only_platforms_in_the_batch() -> None:
    torch.manual_seed(0)
    recipe, batch = tiny_recipe(platform_embedding=True), some_batch()
    model, plain = GPT(model_config(recipe, 100)), GPT(model_config(tiny_recipe(), 100))
    plain.load_state_dict({name: each for name, each in model.state_dict().items() if name != "platforms.table"})
    given = model_input(batch, CPU)
    torch.testing.assert_close(model(given), plain(given))
    assert model.platforms is not None and batch.platforms is not None
    model(given).backward()
    gradient = model.platforms.table.grad
    assert gradient is not None
    assert np.flatnonzero(gradient.any(1).numpy()).tolist() == np.unique(batch.platforms[batch.platforms > 0]).tolist()
    optimizer_for(recipe, dict(model.named_parameters())).step(0.01)
    assert bool(model.platforms.table.any()) and not bool(model.platforms.table[0].any())


def test_a_document_has_the_same_vectors_packed_and_alone() -> None:
    model, packed = awake(), some_batch()
    hidden, start = model.hidden(model_input(packed, CPU)), 0
    assert packed.platforms is not None
    for number, document in enumerate(DOCUMENTS):
        alone = batch_of([document], row_tokens=ROW)
        listed = np.zeros_like(packed.platforms[:1])
        listed[0, 0] = packed.platforms[0, number]
        found = model.hidden(model_input(replace(alone, platforms=listed), CPU))
        torch.testing.assert_close(found[0, : len(document)], hidden[0, start : start + len(document)])
        start += len(document)


def test_platforms_of_another_document_change_no_bit() -> None:
    model, batch = awake(), some_batch()
    assert batch.platforms is not None
    other = batch.platforms.copy()
    other[0, 1] = 0
    other[0, 1, :2] = (7, 109)
    one, two = (model.hidden(model_input(each, CPU))[0] for each in (batch, replace(batch, platforms=other)))
    of_it = torch.from_numpy(batch.doc_ids[0]) == 1
    assert torch.equal(one[~of_it], two[~of_it]) and not torch.equal(one[of_it], two[of_it])


def test_it_has_no_operation_that_is_slow_on_a_tpu() -> None:
    model, given = awake(), model_input(some_batch(), CPU)
    assert model.platforms is not None and given.platforms is not None
    seen = set()

    class Listening(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.add(func.__name__.partition(".")[0])
            return func(*args, **(kwargs or {}))

    with Listening():
        model.platforms(given.platforms).sum().backward()
    bad = ("topk", "sort", "scatter", "gather", "index", "embedding", "nonzero", "one_hot")
    assert "bmm" in seen and not [name for name in seen if any(part in name for part in bad)]


def test_a_batch_without_platforms_is_rejected() -> None:
    with pytest.raises(SpecError, match="a model that uses platforms; expected platforms of its documents; found none"):
        awake()(model_input(batch_of(DOCUMENTS, row_tokens=ROW), CPU))
