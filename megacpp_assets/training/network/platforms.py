"""Additive embedding of the platforms of a document: each of its tokens receives the sum of their vectors.

The number of platforms of a document changes values and no shapes. Only matrix products are used, because the gradient
of a table look-up is a scatter.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from megacpp_assets.contract.platforms import PLATFORM_IDS
from megacpp_assets.training.network.products import linear


class PlatformInput(NamedTuple):
    """The platforms of the documents of a batch.

    `ids` (B, D, MAX_PLATFORM_IDS) int64 are those of each document of a row, filled up with 0. `documents` (B, T) int64
    is the number of the document of each token.
    """

    ids: Tensor
    documents: Tensor

    def bags(self) -> Tensor:
        """Return (B, T, PLATFORM_IDS - 1) float32: 1 for each platform of the token's document, from id 1 on.

        The product is exact, because each sum has one value and zeros.
        """
        known = torch.arange(1, PLATFORM_IDS, device=self.ids.device)
        of_documents = (self.ids[..., None] == known).sum(-2).float()
        numbers = torch.arange(self.ids.shape[1], device=self.ids.device)
        return (self.documents[..., None] == numbers).float() @ of_documents


class PlatformEmbedding(nn.Module):
    """Platforms of documents -> (B, T, hidden), which is added to the token embedding.

    All vectors start at zero and train from the first step. The vector of id 0, which is padding, is never added.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(PLATFORM_IDS, hidden))

    def forward(self, platforms: PlatformInput) -> Tensor:
        """Return the sum of the platform vectors of each token's document."""
        added: Tensor = linear(platforms.bags(), self.table[1:].T)
        return added
