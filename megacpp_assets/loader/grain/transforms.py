"""Grain `Map` transforms of windows before training. Each accepts one window (L,) or a batch of windows (B, L)."""

from __future__ import annotations

import numpy as np

from megacpp_assets.loader.grain.package import grain
from megacpp_assets.loader.grain.refusals import BadArgument, BadTokens
from megacpp_assets.loader.grain.repeats import repeats_too_often
from megacpp_assets.loader.grain.source import Element


class NgramFilterTransform(grain.transforms.Map):  # type: ignore[misc]
    """Adds `instance_mask`: False for a window that repeats a pattern of at most `max_period` tokens `max_count` times.

    No window is dropped, because that would change the windows of every host. Raises `BadTokens` if `mask_value`, which
    OLMo's files use for "no token", is among the tokens.
    """

    def __init__(self, *, max_period: int = 13, min_period: int = 1, max_count: int = 32, mask_value: int = -1) -> None:
        if min_period < 1:
            raise BadArgument("min_period", expected="at least 1", found=min_period, do="choose a longer pattern")
        self._max_period = max_period
        self._min_period = min_period
        self._max_count = max_count
        self._mask_value = mask_value

    def map(self, element: Element) -> Element:
        """Return the element with `instance_mask`: a bool for a window, shape (B,) for a batch."""
        tokens = element["tokens"]
        if (tokens == self._mask_value).any():
            do = "index files of tokens, or choose a mask_value that is no token"
            raise BadTokens("window", expected=f"no {self._mask_value}, the mask_value", found="one", do=do)
        repeats = repeats_too_often(
            tokens, max_period=self._max_period, min_period=self._min_period, max_count=self._max_count
        )
        return {**element, "instance_mask": ~repeats if repeats.ndim else not repeats}


class ShiftToInputsTargets(grain.transforms.Map):  # type: ignore[misc]
    """Makes the input of MaxText's trainer: five int32 arrays with the shape of `tokens`.

    `targets` are the tokens shifted left by one, with 0 at the end. `targets_segmentation` is 0 at the end and for all
    of a window whose `instance_mask` is False, else 1. A window is one segment: documents are not separated.
    """

    def map(self, element: Element) -> Element:
        """Return `inputs`, `targets`, `inputs_position`, `inputs_segmentation` and `targets_segmentation`."""
        inputs = element["tokens"].astype(np.int32, copy=False)
        targets, counted = np.zeros_like(inputs), np.zeros_like(inputs)
        targets[..., :-1] = inputs[..., 1:]
        counted[..., :-1] = np.asarray(element.get("instance_mask", True))[..., None]
        return {
            "inputs": inputs,
            "targets": targets,
            "inputs_position": np.broadcast_to(np.arange(inputs.shape[-1], dtype=np.int32), inputs.shape).copy(),
            "inputs_segmentation": np.ones_like(inputs),
            "targets_segmentation": counted,
        }
