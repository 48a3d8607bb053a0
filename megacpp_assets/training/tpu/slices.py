"""Slices of TPUs by their providers' words. Training takes those of one host: one process uses all of its chips."""

from __future__ import annotations

import math
import re
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import TrainingRecipe

_TYPE: Final = re.compile(r"(v\d+[a-z]*)-(\d+)")
_HALVED: Final = ("v4", "v5p")
"""Generations whose types count cores, two of which are one device."""
_LARGEST: Final = 8
"""The number behind the type of the largest slice of one host, of any generation."""
_HOST: Final = "take a slice of one host: the one process uses the TPUs of its own"


def devices_of_type(accelerator: str) -> int:
    """Devices of a Cloud TPU type such as `v6e-8`. `SpecError` for one of several hosts and for a malformed one."""
    match = _TYPE.fullmatch(accelerator)
    number = int(match[2]) if match else 0
    if match is None or not 1 <= number <= _LARGEST:
        expected = f"a type of one host, such as v6e-1 and at most -{_LARGEST}"
        raise SpecError("launch.settings.accelerator", expected=expected, found=repr(accelerator), do=_HOST)
    return max(1, number // 2) if match[1] in _HALVED else number


def require_one_host(topology: str, chips: int) -> None:
    """`SpecError` where a topology of GKE such as `2x4` is none, or has not the `chips` of one host."""
    sides = topology.split("x")
    if not all(side.isdecimal() and int(side) for side in sides):
        expected = "chips along each side, such as 2x2"
        raise SpecError("launch.settings.topology", expected=expected, found=repr(topology), do="correct the setting")
    if (whole := math.prod(map(int, sides))) != chips:
        expected = f"{whole}, all of the topology {topology}"
        raise SpecError("launch.settings.chips", expected=expected, found=chips, do=_HOST)


def require_even_rows(recipe: TrainingRecipe, devices: int) -> None:
    """`SpecError` where a part of the recipe's batch has not as many rows for each of so many devices."""
    if recipe.batch_rows // recipe.accumulate % devices:
        expected = f"a multiple of {recipe.accumulate} parts x {devices} devices"
        raise SpecError(
            "training.batch_rows", expected=expected, found=recipe.batch_rows, do="correct training.batch_rows"
        )
