"""The structure embedding: its components, its clamping, and that it can train at all."""

from __future__ import annotations

import pytest
import torch

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import STRUCTURE_COMPONENTS
from megacpp_assets.training.network.structure import (
    StructureConfig,
    StructureEmbedding,
    parse_components,
)

IDS = torch.zeros(2, 6, dtype=torch.long)


def channels(value: int = 0) -> dict[str, torch.Tensor]:
    names = ("structure_ids", "dep_levels", "ast_depth_ids", "sibling_index_ids", "node_type_ids")
    return {name: torch.full_like(IDS, value) for name in names}


def trained(config: StructureConfig) -> StructureEmbedding:
    """An embedding whose up-projection has left zero."""
    torch.manual_seed(0)
    embedding = StructureEmbedding(config, 8)
    torch.nn.init.normal_(embedding.up)
    return embedding


def test_vectors_of_the_table_start_with_a_norm_of_about_1() -> None:
    norms = trained(StructureConfig(STRUCTURE_COMPONENTS, bottleneck_dim=64)).table.detach().norm(dim=1)
    assert abs(float(norms.mean()) - 1) < 0.05


def test_component_names_are_read_in_canonical_order() -> None:
    assert parse_components("core") == ("structure", "dep_level")
    assert parse_components("all") == STRUCTURE_COMPONENTS
    assert parse_components("none") == ()
    assert parse_components("ast_node_type, structure") == ("structure", "ast_node_type")


@pytest.mark.parametrize("text", ["", "structur", "core,all", "none,structure", "structure,,dep_level", "platform"])
def test_an_unknown_component_is_rejected(text: str) -> None:
    with pytest.raises(SpecError, match="structure_components"):
        parse_components(text)


@pytest.mark.parametrize(
    "wrong",
    [{"bottleneck_dim": 0}, {"max_ast_depth": 0}, {"max_sibling_index": -1}, {"num_node_types": 0},
     {"components": ("dep_level", "structure")}],
)  # fmt: skip
def test_a_configuration_that_makes_no_table_is_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        StructureConfig(**wrong)  # type: ignore[arg-type]


def test_caps_are_the_contracts() -> None:
    config = StructureConfig(STRUCTURE_COMPONENTS)
    assert (config.max_ast_depth, config.max_sibling_index, config.num_node_types) == (20, 10, 64)
    assert config.vocabularies == (9, 17, 21, 11, 64)


def test_an_untrained_embedding_adds_nothing() -> None:
    out = StructureEmbedding(StructureConfig(STRUCTURE_COMPONENTS), 8)(channels(3), IDS)
    assert out.shape == (2, 6, 8) and bool((out == 0).all())


def test_gradients_reach_every_part_of_it_within_two_steps() -> None:
    torch.manual_seed(0)
    embedding = StructureEmbedding(StructureConfig(STRUCTURE_COMPONENTS), 8)
    optimizer = torch.optim.SGD(embedding.parameters(), lr=0.1)
    embedding(channels(3), IDS).sum().backward()
    assert embedding.up.grad is not None and bool((embedding.up.grad != 0).any())
    optimizer.step()
    optimizer.zero_grad()
    embedding(channels(3), IDS).sum().backward()
    for part in (embedding.table, embedding.scale, embedding.up):
        assert part.grad is not None and bool((part.grad != 0).any())


def test_values_outside_a_table_are_read_as_its_first_or_last_entry() -> None:
    embedding = trained(StructureConfig(STRUCTURE_COMPONENTS))
    assert torch.equal(embedding(channels(-1), IDS), embedding(channels(0), IDS))
    assert torch.equal(embedding(channels(70_000), IDS), embedding(channels(64), IDS))
    assert not torch.equal(embedding(channels(1), IDS), embedding(channels(0), IDS))


def test_components_have_vectors_of_their_own() -> None:
    embedding = trained(StructureConfig(("structure", "dep_level")))
    one, two = channels(0), channels(0)
    one["structure_ids"] = one["structure_ids"] + 1
    two["dep_levels"] = two["dep_levels"] + 1
    assert not torch.equal(embedding(one, IDS), embedding(two, IDS))


def test_a_component_that_is_not_embedded_has_no_effect() -> None:
    embedding = trained(StructureConfig(("structure", "dep_level")))
    deep = channels(0)
    deep["ast_depth_ids"] = deep["ast_depth_ids"] + 5
    assert torch.equal(embedding(deep, IDS), embedding(channels(0), IDS))


def test_a_channel_of_another_shape_or_none_is_rejected() -> None:
    embedding = StructureEmbedding(StructureConfig(), 8)
    short = channels()
    short["dep_levels"] = short["dep_levels"][:, :3]
    with pytest.raises(SpecError, match="dep_levels"):
        embedding(short, IDS)
    absent = channels()
    del absent["structure_ids"]
    with pytest.raises(SpecError, match="structure_ids"):
        embedding(absent, IDS)
