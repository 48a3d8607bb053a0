"""The strategy of a recipe's `packing.strategy` by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from megacpp_assets.packed.plan import RowPlan
from megacpp_assets.packed.strategies.best_fit import best_fit
from megacpp_assets.packed.strategies.first_fit import first_fit
from megacpp_assets.packed.strategies.sequential import sequential

Strategy = Callable[..., RowPlan]
"""(lengths, chunks, *, limits, seed, name_of) -> a plan in which every document is in exactly one row."""

STRATEGIES: Final[dict[str, Strategy]] = {"best_fit": best_fit, "first_fit": first_fit, "sequential": sequential}
