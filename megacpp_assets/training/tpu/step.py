"""One step of training as one compiled function: loss and gradients of each part of a batch, the clip, and AdamW.

The function is compiled once, for the shapes of the first batch, and called as it is: a batch of other names, shapes or
types is rejected by JAX and never compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.training.network.model import ModelConfig
from megacpp_assets.training.optimizer import BETA1, BETA2, EPSILON, rate_shares
from megacpp_assets.training.tpu.attention import ROWS, attention_for
from megacpp_assets.training.tpu.batch import Arrays
from megacpp_assets.training.tpu.network import Weights, summed_loss
from megacpp_assets.training.tpu.slices import require_even_rows

_CLIP_EPSILON: Final = 1e-6
"""As torch's clip has it."""


class TrainingState(NamedTuple):
    """Weights and both moments by the weights' names, and the steps that the moments have seen."""

    weights: Weights
    first: Weights
    second: Weights
    steps: jax.Array


@dataclass(frozen=True, slots=True)
class Placement:
    """Where arrays lie: the rows of a batch spread over the devices of `mesh`, the state whole on each of them."""

    mesh: Mesh

    @property
    def rows(self) -> NamedSharding:
        """Of parts of a batch, (parts, rows, …)."""
        return NamedSharding(self.mesh, PartitionSpec(None, ROWS))

    @property
    def whole(self) -> NamedSharding:
        """Of all else."""
        return NamedSharding(self.mesh, PartitionSpec())


def placement(devices: Sequence[Any], recipe: TrainingRecipe) -> Placement:
    """Over all of `devices`; `SpecError` where a part of the recipe's batch has not as many rows for each."""
    require_even_rows(recipe, len(devices))
    return Placement(Mesh(np.array(devices), (ROWS,)))


def compile_step(
    config: ModelConfig, recipe: TrainingRecipe, where: Placement, state: TrainingState, batch: Mapping[str, Any]
) -> Any:
    """(state, batch, weight, learning rate) -> (state, loss): the step for arrays like `state` and `batch`, compiled.

    `batch` has the arrays of `batch.arrays_of`, each with its parts in front; `weight` is the sum of all its weights,
    and the loss that of its tokens in nats, summed. The state that goes in is used up. Arrays may be
    `jax.ShapeDtypeStruct` where nothing is to be computed.
    """
    row_tokens = batch["input_ids"].shape[-1]
    attend = attention_for(where.mesh, config.heads, row_tokens, config.softcap, biased=config.relation_bias)

    def of_part(weights: Weights, part: Mapping[str, jax.Array]) -> jax.Array:
        return summed_loss(weights, part, config, attend)

    def step(
        state: TrainingState, batch: Mapping[str, jax.Array], weight: jax.Array, learning_rate: jax.Array
    ) -> tuple[TrainingState, jax.Array]:
        def add(total: tuple[jax.Array, Weights], part: Mapping[str, jax.Array]) -> tuple[tuple[jax.Array, Any], None]:
            loss, gradients = jax.value_and_grad(of_part)(state.weights, part)
            return (total[0] + loss, jax.tree.map(jnp.add, total[1], gradients)), None

        nothing = (jnp.zeros((), jnp.float32), jax.tree.map(jnp.zeros_like, dict(state.weights)))
        (loss, gradients), _ = jax.lax.scan(add, nothing, dict(batch))
        return _stepped(state, _clipped(gradients, weight, recipe.gradient_clip), learning_rate, recipe), loss

    scalar = jax.ShapeDtypeStruct((), jnp.float32, sharding=where.whole)
    jitted = jax.jit(step, donate_argnums=0, out_shardings=where.whole)
    with _named(recipe):
        return jitted.lower(state, batch, scalar, scalar).compile()


def _clipped(gradients: Weights, weight: jax.Array, most: float) -> Weights:
    """Gradients of the mean over `weight`, together at most `most` long."""
    mean = jax.tree.map(lambda each: each / weight, gradients)
    length = jnp.sqrt(sum(jnp.sum(each * each) for each in mean.values()))
    share = jnp.minimum(1.0, most / (length + _CLIP_EPSILON))
    return {name: each * share for name, each in mean.items()}


def _stepped(
    state: TrainingState, gradients: Weights, learning_rate: jax.Array, recipe: TrainingRecipe
) -> TrainingState:
    """After AdamW: matrices decay, vectors do not."""
    steps = state.steps + 1
    first = {name: BETA1 * state.first[name] + (1 - BETA1) * each for name, each in gradients.items()}
    second = {name: BETA2 * state.second[name] + (1 - BETA2) * each * each for name, each in gradients.items()}
    weights, shares = {}, rate_shares(recipe, state.weights)
    for name, weight in state.weights.items():
        rate = learning_rate * shares.get(name, 1.0)
        decay = recipe.weight_decay if weight.ndim >= 2 else 0.0
        mean, spread = first[name] / (1 - BETA1**steps), second[name] / (1 - BETA2**steps)
        weights[name] = weight * (1 - rate * decay) - rate * mean / (jnp.sqrt(spread) + EPSILON)
    return TrainingState(weights, first, second, steps)


@contextmanager
def _named(recipe: TrainingRecipe) -> Iterator[None]:
    """What the compiler found too large is a fault of the recipe."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        lines = [line.strip() for line in str(error).splitlines() if "exceed" in line.lower() or "memory" in line]
        do = "lower training.hidden or training.layers, or raise training.accumulate"
        found = (lines or ["more"])[0][:300]
        expected = f"a step of {recipe.batch_rows} rows that fits a device's memory"
        raise SpecError("model of the recipe", expected=expected, found=found, do=do) from None


def stacked(parts: Sequence[Arrays]) -> Arrays:
    """Return the arrays of equal parts of a batch as one each, with the parts in front."""
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}
