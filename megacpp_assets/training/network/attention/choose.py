"""Chooses the attention backend.

The recipe's choice comes first. Otherwise it is one document at a time on a CPU, FlexAttention on CUDA, and a dense
mask elsewhere.
"""

from __future__ import annotations

import torch

from megacpp_assets.contract.recipe.training import AUTO, VARLEN
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.blocks import block_attention
from megacpp_assets.training.network.attention.dense import dense_attention
from megacpp_assets.training.network.attention.layout import DocumentLayout
from megacpp_assets.training.network.attention.scores import Attend
from megacpp_assets.training.network.attention.varlen import varlen_attention


def attention_for(
    batch: RowBatch,
    layout: DocumentLayout,
    device: torch.device,
    softcap: float = 0.0,
    *,
    one_graph: bool = False,
    kind: str = AUTO,
) -> Attend:
    """Return attention over the documents of `batch`, prepared once per batch, outside of any compiled region.

    With `softcap` each score s becomes softcap x tanh(s / softcap) before the mask; 0 disables this. With `one_graph`
    all tensors have the same shapes in every batch, so that one compilation serves all. `kind` is the recipe's
    `attention`. `SpecError` if the rows are too long for a dense mask.
    """
    if kind == VARLEN:
        return varlen_attention(batch, device)
    if kind == AUTO and device.type == "cpu" and not one_graph:
        return block_attention(layout, softcap)
    if kind == AUTO and device.type == "cuda":
        from megacpp_assets.training.network.attention.flex import flex_document_attention  # noqa: PLC0415 - imports a compiler

        return flex_document_attention(batch, layout, device, softcap)
    doc_ids = torch.from_numpy(batch.doc_ids).to(device)
    valid = torch.from_numpy(batch.valid_token_count).to(device)
    return dense_attention(doc_ids, valid, softcap)
