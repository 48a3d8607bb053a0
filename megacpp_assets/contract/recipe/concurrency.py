"""A section of a recipe: how many steps may use one kind of resource of a data root at the same time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.recipe.key import key, require_allowed
from megacpp_assets.contract.recipe.ranges import between

MOST_SLOTS: Final = 1000
"""The largest number of slots. Each slot is a file that a waiting step checks once a second."""


@dataclass(frozen=True, slots=True)
class ConcurrencyRecipe:
    """How many steps of a kind run at the same time in a data root, in all commands together. No key changes a byte.

    A step that finds no free slot waits for one.
    """

    parsing: int = key(
        4, "Repositories that are parsed at the same time.", allowed=between(1, MOST_SLOTS), unit="slots"
    )
    accelerator: int = key(
        1,
        "Trainings on accelerators, launched trainings and GPU tokenizers that run at the same time.",
        allowed=between(1, MOST_SLOTS),
        unit="slots",
    )
    network: int = key(
        4, "Repositories that are fetched at the same time.", allowed=between(1, MOST_SLOTS), unit="slots"
    )

    def __post_init__(self) -> None:
        require_allowed(self, "concurrency")
