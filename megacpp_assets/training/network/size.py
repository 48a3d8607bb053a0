"""The model that a recipe describes, and how many parameters it has."""

from __future__ import annotations

import torch

from megacpp_assets.contract.recipe import Recipe, TrainingRecipe
from megacpp_assets.training.network.model import GPT, ModelConfig
from megacpp_assets.training.network.structure import StructureConfig, parse_components


def model_config(recipe: TrainingRecipe, vocabulary_size: int) -> ModelConfig:
    """The shape of the model of `recipe` for a tokenizer of `vocabulary_size` ids."""
    structure = StructureConfig(parse_components(recipe.structure_components), recipe.structure_bottleneck)
    return ModelConfig(vocabulary_size, recipe.layers, recipe.hidden, recipe.heads, structure)


def parameter_count(recipe: Recipe) -> int:
    """Parameters of the model, the tied embedding once. It is built without memory for its values."""
    with torch.device("meta"):
        model = GPT(model_config(recipe.training, recipe.tokenizer.vocabulary_size))
    return sum(parameter.numel() for parameter in model.parameters())
