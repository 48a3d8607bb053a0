"""The learning rate of each step, and the steps at which checkpoints are saved."""

from __future__ import annotations

import math

from megacpp_assets.contract.recipe.training import TrainingRecipe

_FINAL_FRACTION = 0.1


def learning_rate(recipe: TrainingRecipe, step: int) -> float:
    """Return the rate of `step` (from 0): linear warm-up, then the recipe's decay to a tenth of its rate."""
    if step < recipe.warmup_steps:
        return recipe.learning_rate * (step + 1) / recipe.warmup_steps
    done = (step - recipe.warmup_steps) / max(1, recipe.steps - recipe.warmup_steps)
    if recipe.schedule == "wsd":
        decayed = max(0.0, done - (1 - recipe.decay_share)) / recipe.decay_share
        return recipe.learning_rate * (1 - (1 - _FINAL_FRACTION) * decayed)
    return recipe.learning_rate * (_FINAL_FRACTION + (1 - _FINAL_FRACTION) * 0.5 * (1 + math.cos(math.pi * done)))


def is_saved(recipe: TrainingRecipe, step: int) -> bool:
    """Return whether a checkpoint is due after `step` steps."""
    return step == recipe.steps or (0 < step < recipe.steps and step % recipe.save_every == 0)
