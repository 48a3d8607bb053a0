"""The embedding of n-grams: what it looks at, and that it can train at all."""

from __future__ import annotations

import pytest
import torch

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.network.ngrams import NgramConfig, NgramEmbedding

SMALL = NgramConfig(heads=2, orders=(2, 3), table_size=1000, width=4)
IDS = torch.tensor([[5, 6, 7, 8, 5, 6, 7, 8]])


def trained() -> NgramEmbedding:
    """An embedding whose projection has left zero."""
    torch.manual_seed(0)
    embedding = NgramEmbedding(SMALL, 8)
    torch.nn.init.normal_(embedding.up)
    return embedding


def test_an_embedding_depends_on_the_token_and_the_two_before_it() -> None:
    embedding, positions = trained(), torch.arange(8)[None]
    found = embedding(IDS, positions)
    for place in range(8):
        changed = IDS.clone()
        changed[0, place] = 99
        moved = (embedding(changed, positions) != found).any(-1)[0].nonzero().flatten().tolist()
        assert moved == [place, place + 1, place + 2][: 8 - place]


def test_a_document_has_the_same_vectors_packed_and_alone() -> None:
    embedding = trained()
    alone = embedding(IDS[:, :4], torch.arange(4)[None])
    packed = embedding(IDS, torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3]]))
    assert torch.equal(packed, torch.cat((alone, alone), 1))


def test_it_adds_nothing_before_it_is_trained_and_trains_from_the_second_step_on() -> None:
    embedding, positions = NgramEmbedding(SMALL, 8), torch.arange(8)[None]
    optimizer = torch.optim.SGD(embedding.parameters(), lr=0.1)
    assert not embedding(IDS, positions).any()
    for parameter in (embedding.up, embedding.table):
        optimizer.zero_grad()
        (embedding(IDS, positions) - 1).square().sum().backward()
        assert parameter.grad is not None and parameter.grad.any()
        optimizer.step()


def test_tables_have_different_prime_sizes() -> None:
    tables = NgramConfig(heads=3, orders=(2, 3), table_size=1000).tables
    assert tables == ((2, 1009), (2, 1013), (2, 1019), (3, 1021), (3, 1031), (3, 1033))


@pytest.mark.parametrize("wrong", [{"orders": ()}, {"orders": (3, 2)}, {"orders": (1, 2)}, {"heads": -1}, {"width": 0}])
def test_a_configuration_that_makes_no_table_is_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(SpecError, match="n-gram"):
        NgramConfig(**wrong)  # type: ignore[arg-type]
