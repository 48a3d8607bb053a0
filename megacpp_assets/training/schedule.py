"""What happens at which step: the learning rate, and which steps are saved."""

from __future__ import annotations

import math

from megacpp_assets.contract.recipe.training import TrainingRecipe

_FINAL_FRACTION = 0.1


def learning_rate(recipe: TrainingRecipe, step: int) -> float:
    """Rate of `step` (from 0): linear warm-up, then down to a tenth of the recipe's rate by its schedule."""
    if step < recipe.warmup_steps:
        return recipe.learning_rate * (step + 1) / recipe.warmup_steps
    done = (step - recipe.warmup_steps) / max(1, recipe.steps - recipe.warmup_steps)
    if recipe.schedule == "wsd":
        fallen = max(0.0, done - (1 - recipe.decay_share)) / recipe.decay_share
        return recipe.learning_rate * (1 - (1 - _FINAL_FRACTION) * fallen)
    return recipe.learning_rate * (_FINAL_FRACTION + (1 - _FINAL_FRACTION) * 0.5 * (1 + math.cos(math.pi * done)))


def is_saved(recipe: TrainingRecipe, step: int) -> bool:
    """Whether a checkpoint is due after `step` steps."""
    return step == recipe.steps or (0 < step < recipe.steps and step % recipe.save_every == 0)
