"""The step of a recipe compiled for TPUs that this machine does not have: libtpu's compiler runs on any Linux host.

So a model that no device holds, or a part that does not lower, is found before a machine is asked for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import topologies

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import fixed_max_chunks
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.loader.canonical import chunk_shapes
from megacpp_assets.loader.chunks import RELATIONS
from megacpp_assets.training.network.model import ModelConfig
from megacpp_assets.training.network.size import model_config, without_values
from megacpp_assets.training.network.structure import CHANNEL_OF
from megacpp_assets.training.tpu.step import Placement, TrainingState, compile_step, placement

os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # without TPUs there is no server to ask what machine this is


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """A step for so many `devices`, the most memory that it takes of each, and the program as text."""

    devices: int
    bytes_a_device: int
    text: str


def compile_for(topology: str, recipe: TrainingRecipe, vocabulary_size: int, row_tokens: int) -> CompiledStep:
    """Compile for the slice `topology`, such as `v6e:2x2`. `SpecError` for one that libtpu does not know, for rows that
    its devices cannot share evenly, and for a step that does not fit their memory."""
    where = placement(_devices(topology), recipe)
    config = model_config(recipe, vocabulary_size, row_tokens)
    compiled = compile_step(config, recipe, where, _state(config, where), _batch(config, recipe, where, row_tokens))
    memory: Any = compiled.memory_analysis()
    taken = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return CompiledStep(
        devices=where.mesh.devices.size,
        bytes_a_device=taken - memory.alias_size_in_bytes + memory.generated_code_size_in_bytes,
        text=compiled.as_text(),
    )


def _devices(topology: str) -> list[Any]:
    try:
        return list(topologies.get_topology_desc(platform="tpu", topology_name=topology).devices)
    except RuntimeError as error:  # also JAX's own error, with what libtpu reports
        do = "write it as a generation and a shape of chips, or pip install 'megacpp-assets[tpu]'"
        reason = " ".join(str(error).split())[:200]
        expected = f"one that libtpu knows, such as v6e:2x2 ({reason})"
        raise SpecError("TPU topology", expected=expected, found=repr(topology), do=do) from None


def _state(config: ModelConfig, where: Placement) -> TrainingState:
    def weights() -> dict[str, Any]:
        parameters = without_values(config).named_parameters()
        return {name: _array(tuple(each.shape), jnp.float32, where.whole) for name, each in parameters}

    return TrainingState(weights(), weights(), weights(), _array((), jnp.float32, where.whole))


def _batch(config: ModelConfig, recipe: TrainingRecipe, where: Placement, row_tokens: int) -> dict[str, Any]:
    shape = (recipe.accumulate, recipe.batch_rows // recipe.accumulate, row_tokens)
    names = ["input_ids", "target_ids", "positions", "documents"]
    names += [CHANNEL_OF[component] for component in config.structure.components]
    found = {name: _array(shape, jnp.int32, where.rows) for name in names}
    found["weights"] = _array(shape, jnp.float32, where.rows)
    if config.structure.platform_embed_enabled:
        found["platforms"] = _array((*shape[:2], fixed_max_chunks(row_tokens), MAX_PLATFORM_IDS), jnp.int32, where.rows)
    if config.relation_bias or config.tree_steps:
        slots = fixed_max_chunks(row_tokens)
        chunks = chunk_shapes(shape[1], row_tokens)
        found |= {name: _array((shape[0], *each), dtype, where.rows) for name, (each, _, dtype) in chunks.items()}
        found["relations"] = _array((*shape[:2], len(RELATIONS), slots, slots), jnp.bool_, where.rows)
    if config.ngrams.heads:
        found["ngrams"] = _array((*shape, len(config.ngrams.tables)), jnp.int32, where.rows)
    return found


def _array(shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=where)
