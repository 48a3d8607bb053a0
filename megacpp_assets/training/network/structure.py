"""Additive structure embedding: up to five channels per token, one stacked table, a bottleneck (docs/contracts.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import torch
from torch import Tensor, nn

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.contract.recipe.training import STRUCTURE_COMPONENTS
from megacpp_assets.training.network.products import linear

CORE: Final = STRUCTURE_COMPONENTS[:2]
NOTHING: Final = "none"
"""Names no component: a model that sees tokens alone."""

CHANNEL_OF: Final = {
    "structure": "structure_ids",
    "dep_level": "dep_levels",
    "ast_depth": "ast_depth_ids",
    "sibling_index": "sibling_index_ids",
    "ast_node_type": "node_type_ids",
}
"""Component -> the batch key it reads."""


def parse_components(text: str) -> tuple[str, ...]:
    """Components that `text` names, in canonical order: "core", "all", "none" or a list; else `SpecError`."""
    if text == NOTHING:
        return ()
    if text == "core":
        return CORE
    if text == "all":
        return STRUCTURE_COMPONENTS
    named = [part.strip() for part in text.split(",")]
    if not set(named) <= set(STRUCTURE_COMPONENTS):
        raise SpecError(
            "structure_components",
            expected=f"core, all, none or a list of {', '.join(STRUCTURE_COMPONENTS)}",
            found=text,
        )
    return tuple(component for component in STRUCTURE_COMPONENTS if component in named)


@dataclass(frozen=True, slots=True)
class StructureConfig:
    """Which components are embedded, and their caps: values above a cap share its vector. Whether the
    platforms of documents are embedded too does not depend on the components."""

    components: tuple[str, ...] = CORE
    bottleneck_dim: int = 64
    max_dep_level: int = 16
    max_ast_depth: int = 20
    max_sibling_index: int = 10
    num_node_types: int = 64
    platform_embed_enabled: bool = False

    def __post_init__(self) -> None:
        for name in ("bottleneck_dim", "max_dep_level", "max_ast_depth", "max_sibling_index", "num_node_types"):
            least = 0 if name in ("max_dep_level", "max_sibling_index") else 1
            if getattr(self, name) < least:
                raise SpecError(f"structure {name}", expected=f"at least {least}", found=getattr(self, name))
        if parse_components(",".join(self.components) or NOTHING) != self.components:
            raise SpecError("structure components", expected="canonical order, each once", found=self.components)

    @property
    def vocabularies(self) -> tuple[int, ...]:
        """Number of vectors of each component, in order."""
        sizes = {
            "structure": len(STRUCTURE_CATEGORIES),
            "dep_level": self.max_dep_level + 1,
            "ast_depth": self.max_ast_depth + 1,
            "sibling_index": self.max_sibling_index + 1,
            "ast_node_type": self.num_node_types,
        }
        return tuple(sizes[component] for component in self.components)


class StructureEmbedding(nn.Module):
    """(B, T) integer channels -> (B, T, hidden), to be added to the token embedding.

    The up-projection starts at zero, so an untrained embedding adds nothing; the table does not, or no gradient would
    ever reach either of them. Its vectors start with a norm of about 1 (DECISIONS.md).
    """

    offsets: Tensor
    caps: Tensor

    def __init__(self, config: StructureConfig, hidden: int) -> None:
        super().__init__()
        sizes = config.vocabularies
        first = list(accumulate(sizes, initial=0))[:-1]
        self.channels = tuple(CHANNEL_OF[component] for component in config.components)
        self.table = nn.Parameter(torch.empty(sum(sizes), config.bottleneck_dim))
        self.scale = nn.Parameter(torch.full((len(sizes),), 1.0 / len(sizes)))
        self.up = nn.Parameter(torch.zeros(hidden, config.bottleneck_dim))
        self.register_buffer("offsets", torch.tensor(first).view(-1, 1, 1), persistent=False)
        self.register_buffer("caps", torch.tensor([size - 1 for size in sizes]).view(-1, 1, 1), persistent=False)
        nn.init.normal_(self.table, std=config.bottleneck_dim**-0.5)

    def forward(self, structure: Mapping[str, Tensor], input_ids: Tensor) -> Tensor:
        """Sum of the components' vectors, scaled and projected. Ids are clamped to the table, so -1 is read as 0.

        `SpecError` if a channel is missing or is not shaped like `input_ids`.
        """
        for channel in self.channels:
            found = structure[channel].shape if channel in structure else None
            if found != input_ids.shape:
                raise SpecError(f"structure channel {channel}", expected=tuple(input_ids.shape), found=found)
        ids = torch.stack([structure[channel] for channel in self.channels])
        ids = torch.minimum(ids.clamp(min=0), self.caps) + self.offsets
        vectors = nn.functional.embedding(ids, self.table)
        return linear(torch.einsum("n,nbtd->btd", self.scale, vectors), self.up)
