"""The model that a recipe describes, and how many parameters it has."""

from __future__ import annotations

import torch

from megacpp_assets.contract.recipe import Recipe, TrainingRecipe
from megacpp_assets.training.network.model import GPT, ModelConfig
from megacpp_assets.training.network.ngrams import NgramConfig
from megacpp_assets.training.network.state_space import StateSpaceConfig
from megacpp_assets.training.network.structure import StructureConfig, parse_components

_ROPE_BASE = 10_000.0
_ROPE_TOKENS = 4096


def model_config(recipe: TrainingRecipe, vocabulary_size: int, row_tokens: int = _ROPE_TOKENS) -> ModelConfig:
    """The shape of the model of `recipe` for a tokenizer of `vocabulary_size` ids and rows of `row_tokens` tokens."""
    return ModelConfig(
        vocabulary_size=vocabulary_size,
        layers=recipe.layers,
        hidden=recipe.hidden,
        heads=recipe.heads,
        structure=StructureConfig(parse_components(recipe.structure_components), recipe.structure_bottleneck),
        kv_heads=recipe.kv_heads,
        rope_base=recipe.rope_base or _ROPE_BASE * max(1.0, row_tokens / _ROPE_TOKENS),
        softcap=recipe.softcap,
        dtype=recipe.dtype,
        ngrams=NgramConfig(recipe.ngram_heads, table_size=recipe.ngram_table),
        state_space=StateSpaceConfig(recipe.state_space_every, recipe.state_space_size, recipe.fast_convolution),
    )


def parameter_count(recipe: Recipe) -> int:
    """Parameters of the model, the tied embedding once. It is built without memory for its values."""
    with torch.device("meta"):
        model = GPT(model_config(recipe.training, recipe.tokenizer.vocabulary_size))
    return sum(parameter.numel() for parameter in model.parameters())
