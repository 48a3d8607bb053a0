"""Megatron Core's GPTModel with our embedding. Import it late: Megatron takes eight seconds the first time."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from megacpp_assets.training.network.ngrams import NgramConfig
from megacpp_assets.training.network.structure import StructureConfig

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it tells about GPU libraries that a CPU has no use for
    from megatron.core import parallel_state
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec, get_gpt_mtp_block_spec
    from megatron.core.transformer import TransformerConfig

    from megacpp_assets.training.megatron.embedding import add_arguments, bridge_structure_batch, configs, structured


__all__ = [
    "IndexedDataset", "add_arguments", "bridge_structure_batch", "configs", "model_of", "parallel_state",
    "predicting_stage", "structured",
]  # fmt: skip

VOCABULARY, HIDDEN = 128, 32


class HostAttention(torch.nn.Module):
    """Megatron's own draws its dropout under a generator of CUDA, without which it raises, whatever the rate is."""

    def __init__(self, **_options: object) -> None:
        super().__init__()

    def forward(self, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor, **_options: object) -> Tensor:
        """(T, B, heads, width) three times, True where a pair is hidden -> (T, B, heads x width)."""
        heads = [each.permute(1, 2, 0, 3) for each in (query, key, value)]
        mixed = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=~attention_mask)
        return mixed.permute(2, 0, 1, 3).flatten(2)


def model_of(row: int, structure: StructureConfig, ngrams: NgramConfig, tensor_parallel: int = 1) -> tuple[Any, Any]:
    """A model over rows of `row` tokens, or this process's part of it, and its embedding."""
    torch.manual_seed(0)
    model = GPTModel(
        _config(tensor_model_parallel_size=tensor_parallel),
        _layer(),
        VOCABULARY,
        row,
        share_embeddings_and_output_weights=True,
        position_embedding_type="learned_absolute",
    )
    return model, structured(model, structure, ngrams)


def predicting_stage(row: int, structure: StructureConfig, ngrams: NgramConfig, stage: int) -> tuple[Any, Any]:
    """Stage `stage` of two of a model that predicts two tokens: both stages embed. The model, and its embedding."""
    torch.manual_seed(0)
    config = _config(pipeline_model_parallel_size=2, pipeline_dtype=torch.float32, mtp_num_layers=1)
    model = GPTModel(
        config,
        _layer(),
        VOCABULARY,
        row,
        pre_process=stage == 0,
        post_process=stage == 1,
        share_embeddings_and_output_weights=False,
        position_embedding_type="rope",  # Megatron saves a table of positions twice here
        mtp_block_spec=get_gpt_mtp_block_spec(config, _layer(), use_transformer_engine=False),
    )
    return model, structured(model, structure, ngrams)


def _config(**parallel: Any) -> Any:
    return TransformerConfig(
        num_layers=2,
        hidden_size=HIDDEN,
        num_attention_heads=2,
        use_cpu_initialization=True,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        bias_dropout_fusion=False,
        masked_softmax_fusion=False,
        gradient_accumulation_fusion=False,
        **parallel,
    )


def _layer() -> Any:
    layer = get_gpt_layer_local_spec()
    layer.submodules.self_attention.submodules.core_attention = HostAttention
    return layer
