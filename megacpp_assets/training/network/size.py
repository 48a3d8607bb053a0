"""The model that a recipe describes, and how many parameters it has."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.training.network.model import GPT, ModelConfig
from megacpp_assets.training.network.ngrams import NgramConfig
from megacpp_assets.training.network.state_space import StateSpaceConfig
from megacpp_assets.training.network.structure import StructureConfig, parse_components

_ROPE_BASE = 10_000.0
_ROPE_TOKENS = 4096
_TRAINED_COPIES = 4
"""Copies of the weights' size in training: weights, gradients, two moments."""
_SAVED_COPIES = 3
"""Copies of the weights' size in a checkpoint: weights, two moments."""


def model_config(recipe: TrainingRecipe, vocabulary_size: int, row_tokens: int = _ROPE_TOKENS) -> ModelConfig:
    """Return the shape of the model of `recipe`, for a tokenizer of `vocabulary_size` ids and rows of `row_tokens`."""
    return ModelConfig(
        vocabulary_size=vocabulary_size,
        layers=recipe.layers,
        hidden=recipe.hidden,
        heads=recipe.heads,
        structure=StructureConfig(
            parse_components(recipe.structure_components),
            recipe.structure_bottleneck,
            platform_embed_enabled=recipe.platform_embedding,
        ),
        kv_heads=recipe.kv_heads,
        rope_base=rope_base(recipe, row_tokens),
        softcap=recipe.softcap,
        dtype=recipe.dtype,
        ngrams=NgramConfig(recipe.ngram_heads, table_size=recipe.ngram_table),
        state_space=StateSpaceConfig(
            recipe.state_space_every, recipe.state_space_size, recipe.convolves_across_documents
        ),
        relation_bias=recipe.relation_bias,
        tree_steps=recipe.tree_steps,
    )


def rope_base(recipe: TrainingRecipe, row_tokens: int) -> float:
    """Return the base of RoPE for rows of `row_tokens`: the recipe's, else one that grows with rows above 4,096."""
    return recipe.rope_base or _ROPE_BASE * max(1.0, row_tokens / _ROPE_TOKENS)


def require_memory(config: ModelConfig, device: torch.device, processes: int, parts: int = 1, nodes: int = 1) -> None:
    """Raise `SpecError` if a run of the model needs more memory than this machine has. Activations are not counted.

    A process holds float32 weights, gradients and AdamW's two moments, divided by `parts`. A machine also holds the
    copy of weights and moments that is being saved, divided by `nodes`. On CUDA the device must hold the first and the
    machine the copy. On CPUs the machine must hold both, the first for each of its share of `processes`.
    """
    weights = sum(parameter.nbytes for parameter in without_values(config).parameters())
    trained, saved = _TRAINED_COPIES * weights // parts, _SAVED_COPIES * weights // nodes
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if device.type == "cuda":
        available = torch.cuda.get_device_properties(device).total_memory
        what = "weights, gradients and moments"
        _require(trained, available, f"{what} of at most {available / 1e9:.1f} GB, the memory of {device}")
        what = "a copy of weights and moments, which is saved while steps run,"
        _require(saved, memory, f"{what} of at most {memory / 1e9:.1f} GB, the memory of this machine")
    else:
        what = f"weights, gradients and moments of {processes} processes, and a copy to save,"
        needed = processes // nodes * trained + saved
        _require(needed, memory, f"{what} of at most {memory / 1e9:.1f} GB, the memory of this machine")


def _require(needed: int, available: int, expected: str) -> None:
    if needed > available:
        do = "lower training.hidden, training.layers or training.ngram_table, or train on a larger machine"
        raise SpecError("model of the recipe", expected=expected, found=f"{needed / 1e9:.1f} GB", do=do)


def parameter_count(recipe: Recipe) -> int:
    """Return the number of parameters of the model. The tied embedding counts once."""
    model = without_values(model_config(recipe.training, recipe.tokenizer.vocabulary_size))
    return sum(parameter.numel() for parameter in model.parameters())


def operations_per_token(config: ModelConfig) -> int:
    """Return the floating-point operations of a step for each token: 6 for each parameter of a matrix product.

    The tied embedding counts as the output matrix. Tables that are only looked up do not count. The products of
    queries, keys and values are left out, because they depend on the lengths of documents.
    """
    parameters = without_values(config).named_parameters()
    return 6 * sum(parameter.numel() for name, parameter in parameters if not name.endswith(".table"))


def without_values(config: ModelConfig) -> GPT:
    """Return the model on the meta device, which allocates no memory for values."""
    with torch.device("meta"), _NoInitialValues():
        return GPT(config)


class _NoInitialValues(TorchFunctionMode):
    """Skips the drawing of initial values. For meta tensors torch would load its compiler to do so (2.6 CPU s)."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return None if func in (nn.init.normal_, nn.init.uniform_) else func(*args, **(kwargs or {}))
