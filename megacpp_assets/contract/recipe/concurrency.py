"""How many steps that use one kind of resource may be at work on a data root at a time: a section of a recipe."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from megacpp_assets.contract.errors import SpecError

MOST_SLOTS: Final = 1000
"""Each is a file, looked at once a second by whoever waits."""


@dataclass(frozen=True, slots=True)
class ConcurrencyRecipe:
    """Slots of each resource: of all runs over the data root together, whoever started them. They decide no byte.

    `parsing` counts repositories that libclang goes through, `accelerator` trainings and tokenizers that use a GPU here
    or are launched elsewhere, `network` repositories that are fetched. A step that finds no free slot waits for one.
    """

    parsing: int = 4
    accelerator: int = 1
    network: int = 4

    def __post_init__(self) -> None:
        for resource in fields(self):
            slots = getattr(self, resource.name)
            if not 1 <= slots <= MOST_SLOTS:
                raise SpecError(f"concurrency.{resource.name}", expected=f"1 to {MOST_SLOTS} slots", found=slots)
