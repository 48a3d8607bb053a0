"""A compiled model is compiled once, whatever the batches hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.network.size import model_config
from tests.training.chunked import with_chunks
from tests.training.platformed import with_platforms
from tests.training.world import batch_of, tiny_recipe

if TYPE_CHECKING:
    from torch._dynamo.testing import CompileCounterWithBackend

CPU = torch.device("cpu")
ROW = 64


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def batches(row_tokens: int = ROW) -> Iterator[RowBatch]:
    """20 that differ in documents, their lengths, padding and structure."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        cuts = np.sort(rng.choice(np.arange(1, row_tokens - 4), rng.integers(0, 6), replace=False))
        lengths = np.diff([0, *cuts.tolist(), int(rng.integers(row_tokens - 4, row_tokens + 1))])
        documents = [[2] + [5 + seed] * (int(length) - 1) for length in lengths]
        batch = with_chunks(batch_of(documents, row_tokens=row_tokens, structure_seed=seed), seed)
        yield with_platforms(batch, seed)


def compiled() -> tuple[torch.nn.Module, GPT, CompileCounterWithBackend]:
    from torch._dynamo.testing import CompileCounterWithBackend

    torch.manual_seed(0)
    chunks: dict[str, Any] = {"relation_bias": True, "tree_steps": 2, "platform_embedding": True}
    states: dict[str, Any] = {"ngram_heads": 2, "ngram_table": 1000, "state_space_every": 2}
    recipe = tiny_recipe(softcap=5.0, kv_heads=1, layers=2, **states, **chunks)
    model, counter = GPT(model_config(recipe, 100)), CompileCounterWithBackend("eager")
    return torch.compile(model, dynamic=False, backend=counter), model, counter


def test_twenty_batches_of_every_kind_take_one_compilation() -> None:
    network, model, counter = compiled()
    for batch in batches():
        loss = network(model_input(batch, CPU, softcap=5.0, one_graph=True))
        loss.backward()
        plain = model(model_input(batch, CPU, softcap=5.0))
        torch.testing.assert_close(loss, plain)
        model.zero_grad()
    assert counter.frame_count == 1
    assert not torch._dynamo.utils.counters["graph_break"]


@pytest.mark.campaign
def test_the_test_detects_rows_of_another_length() -> None:
    network, _, counter = compiled()
    for batch in (*list(batches())[:2], next(batches(ROW // 2))):
        network(model_input(batch, CPU, softcap=5.0, one_graph=True))
    assert counter.frame_count == 2


@pytest.mark.campaign
def test_the_test_detects_attention_document_by_document() -> None:
    network, _, counter = compiled()
    for batch in list(batches())[:4]:
        network(model_input(batch, CPU, softcap=5.0))
    assert counter.frame_count > 1
