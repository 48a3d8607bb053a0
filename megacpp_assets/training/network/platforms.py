"""Additive embedding of the platforms that a document is for: the sum of their vectors, for each token of it and of no
other. How many a document has is values, not shapes, and there is no gradient through a look-up: products alone.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from megacpp_assets.contract.platforms import PLATFORM_IDS


class PlatformInput(NamedTuple):
    """`ids` (B, D, MAX_PLATFORM_IDS) int64 of the documents of each row, 0 for none, and `documents` (B, T) int64, the
    number of the document of each token."""

    ids: Tensor
    documents: Tensor

    def bags(self) -> Tensor:
        """(B, T, PLATFORM_IDS - 1) float32: 1 for each platform of the token's document, from id 1 on. By comparisons
        and a product, which is exact, since it sums one value and zeros."""
        known = torch.arange(1, PLATFORM_IDS, device=self.ids.device)
        told = (self.ids[..., None] == known).sum(-2).float()
        places = torch.arange(self.ids.shape[1], device=self.ids.device)
        return (self.documents[..., None] == places).float() @ told


class PlatformEmbedding(nn.Module):
    """Platforms of documents -> (B, T, hidden), to be added to the token embedding. Starts at nothing, and trains from
    step one; the vector of id 0, which pads, is never added."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(PLATFORM_IDS, hidden))

    def forward(self, platforms: PlatformInput) -> Tensor:
        """The sum of the vectors of each token's document."""
        added: Tensor = nn.functional.linear(platforms.bags(), self.table[1:].T)
        return added
