"""A run's state on its TPUs while it steps, and back in the host's tensors before it is saved or measured."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.model import GPT
from megacpp_assets.training.optimizer import AdamW
from megacpp_assets.training.tpu import PLATFORM_VARIABLE
from megacpp_assets.training.tpu.batch import arrays_of
from megacpp_assets.training.tpu.step import Placement, TrainingState, compile_step, placement, stacked


class TpuStepper:
    """Steps `model` with `optimizer` on this machine's TPUs. Between steps the host's tensors are behind."""

    def __init__(self, recipe: TrainingRecipe, model: GPT, optimizer: AdamW) -> None:
        self._recipe, self._model, self._optimizer = recipe, model, optimizer
        self._where = placement(_devices(), recipe)
        named = dict(model.named_parameters())
        self._state = TrainingState(
            weights=_arrays(named, self._where),
            first=_arrays(optimizer.first, self._where),
            second=_arrays(optimizer.second, self._where),
            steps=jax.device_put(jnp.float32(optimizer.steps), self._where.whole),
        )
        self._compiled: Any = None

    def step(self, batches: Sequence[RowBatch], weight: float, learning_rate: float) -> float:
        """See `training.stepper.Stepper`."""
        parts = [arrays_of(batch, self._model.config, self._recipe.context_loss) for batch in batches]
        batch = jax.device_put(stacked(parts), self._where.rows)
        if self._compiled is None:
            self._compiled = compile_step(self._model.config, self._recipe, self._where, self._state, batch)
        scalars = jax.device_put((jnp.float32(weight), jnp.float32(learning_rate)), self._where.whole)
        self._state, loss = self._compiled(self._state, batch, *scalars)
        return float(loss)

    @torch.no_grad()
    def bring_home(self) -> None:
        """Write the state into the tensors of the model and of the optimizer."""
        for tensors, arrays in (
            (dict(self._model.named_parameters()), self._state.weights),
            (self._optimizer.first, self._state.first),
            (self._optimizer.second, self._state.second),
        ):
            for name, tensor in tensors.items():
                tensor.copy_(torch.from_numpy(np.array(arrays[name])))
        self._optimizer.steps = int(self._state.steps)


def _devices() -> list[Any]:
    """This machine's TPUs, or its processors where JAX's own variable asks for them by name."""
    wanted = "cpu" if os.environ.get(PLATFORM_VARIABLE) == "cpu" else "tpu"
    try:
        return list(jax.local_devices(backend=wanted))
    except RuntimeError as error:
        do = "run it on a machine with TPUs and libtpu (pip install 'megacpp-assets[tpu]'), or set training.device"
        found = str(error).splitlines()[0]
        raise EnvironmentLacks("training.device tpu", expected="TPUs that JAX finds", found=found, do=do) from None


def _arrays(tensors: Mapping[str, Tensor], where: Placement) -> dict[str, Any]:
    return {name: jax.device_put(tensor.detach().clone().numpy(), where.whole) for name, tensor in tensors.items()}
