"""What a step of training computes: gradients over the parts of a batch, the clip and the optimizer, by device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Protocol, cast

import torch

from megacpp_assets.contract.recipe.training import TPU, TrainingRecipe
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.optimizer import AdamW, Optimizer
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.tpu import require_jax


class Stepper(Protocol):
    """Changes a model and its optimizer a step at a time."""

    def step(self, batches: Sequence[RowBatch], weight: float, learning_rate: float) -> float:
        """One step over this rank's parts of the global batch, whose loss weights sum to `weight` over all ranks.

        Gives the weighed sum of the losses of all ranks' tokens, in nats.
        """

    def bring_home(self) -> None:
        """From here until the next step the tensors of the model and of the optimizer are what the last one left."""


def stepper_for(recipe: TrainingRecipe, model: GPT, optimizer: Optimizer, ranks: Ranks) -> Stepper:
    """Return the stepper of the recipe's device."""
    if recipe.device == TPU:
        require_jax("training.device tpu")
        from megacpp_assets.training.tpu.stepper import TpuStepper  # noqa: PLC0415 - JAX is of an extra

        return TpuStepper(recipe, model, cast(AdamW, optimizer))
    return TorchStepper(recipe, model, optimizer, ranks)


class TorchStepper:
    """On a CPU or on CUDA, as one rank of several."""

    def __init__(self, recipe: TrainingRecipe, model: GPT, optimizer: Optimizer, ranks: Ranks) -> None:
        self._recipe, self._model, self._optimizer, self._ranks = recipe, model, optimizer, ranks
        network = ranks.averaging(model)
        compiled = torch.compile(network, dynamic=False) if recipe.compiled else network
        self._network = cast(torch.nn.Module, compiled)

    def step(self, batches: Sequence[RowBatch], weight: float, learning_rate: float) -> float:
        """See `Stepper`."""
        recipe, ranks = self._recipe, self._ranks
        loss = torch.zeros((), device=ranks.device)
        for part, batch in enumerate(batches):
            given = model_input(
                batch,
                ranks.device,
                recipe.context_loss,
                recipe.softcap,
                one_graph=recipe.compiled,
                attention=recipe.attention,
            )
            with ranks.summing_later(self._network) if part + 1 < len(batches) else nullcontext():
                paid = self._network(given)
                # Ranks average their gradients: times world, the weighed mean over all tokens of the global batch.
                (paid * (ranks.world / weight)).backward()
            loss += paid.detach()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), recipe.gradient_clip)
        self._optimizer.step(learning_rate)
        self._optimizer.clear()
        return float(ranks.sum(loss))

    def bring_home(self) -> None:
        """They are changed in place."""
