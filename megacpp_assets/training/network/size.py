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
"""Weights, gradients, two moments."""
_SAVED_COPIES = 3
"""Weights, two moments."""


def model_config(recipe: TrainingRecipe, vocabulary_size: int, row_tokens: int = _ROPE_TOKENS) -> ModelConfig:
    """The shape of the model of `recipe` for a tokenizer of `vocabulary_size` ids and rows of `row_tokens` tokens."""
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
    """The base of the rotary positions for rows of `row_tokens` tokens."""
    return recipe.rope_base or _ROPE_BASE * max(1.0, row_tokens / _ROPE_TOKENS)


def require_memory(config: ModelConfig, device: torch.device, processes: int, parts: int = 1, nodes: int = 1) -> None:
    """`SpecError` where the weights of `config`, their gradients and AdamW's two moments, all float32, are more than
    the device has; or where they and the copy of weights and moments that is being saved are more than this machine's
    memory, for `processes` on the CPUs of `nodes` machines. Each process has one of `parts` of them; of the copy, which
    is as large as the model however many it is saved by, each machine its share. What activations take comes on top."""
    weights = sum(parameter.nbytes for parameter in without_values(config).parameters())
    trained, saved = _TRAINED_COPIES * weights // parts, _SAVED_COPIES * weights // nodes
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if device.type == "cuda":
        there = torch.cuda.get_device_properties(device).total_memory
        _require(trained, there, f"weights, gradients and moments of at most {there / 1e9:.1f} GB, as {device} has")
        what = "a copy of weights and moments, which is saved beside the steps,"
        _require(saved, memory, f"{what} of at most {memory / 1e9:.1f} GB, as this machine has")
    else:
        what = f"weights, gradients and moments of {processes} processes, and a copy to save,"
        needed = processes // nodes * trained + saved
        _require(needed, memory, f"{what} of at most {memory / 1e9:.1f} GB, as this machine has")


def _require(needed: int, there: int, expected: str) -> None:
    if needed > there:
        do = "lower training.hidden, training.layers or training.ngram_table, or train on a larger machine"
        raise SpecError("model of the recipe", expected=expected, found=f"{needed / 1e9:.1f} GB", do=do)


def parameter_count(recipe: Recipe) -> int:
    """Parameters of the model, the tied embedding once."""
    model = without_values(model_config(recipe.training, recipe.tokenizer.vocabulary_size))
    return sum(parameter.numel() for parameter in model.parameters())


def operations_per_token(config: ModelConfig) -> int:
    """Floating-point operations of a step for each token: 6 a parameter that is multiplied, the tied embedding as the
    output. What is only looked up has none, and attention's own, which documents decide, are left out."""
    parameters = without_values(config).named_parameters()
    return 6 * sum(parameter.numel() for name, parameter in parameters if not name.endswith(".table"))


def without_values(config: ModelConfig) -> GPT:
    """The model without memory for its values."""
    with torch.device("meta"), _NoInitialValues():
        return GPT(config)


class _NoInitialValues(TorchFunctionMode):
    """Draws nothing: for tensors on the meta device torch would load its compiler to do so (2.6 CPU s a process)."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return None if func in (nn.init.normal_, nn.init.uniform_) else func(*args, **(kwargs or {}))
