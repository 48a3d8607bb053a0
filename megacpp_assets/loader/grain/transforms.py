"""Grain `Map` transforms of windows before training. Each takes one window (L,) or a batch of them (B, L)."""

from __future__ import annotations

import numpy as np

from megacpp_assets.loader.grain.package import grain
from megacpp_assets.loader.grain.refusals import BadArgument, BadTokens
from megacpp_assets.loader.grain.repeats import repeats_too_often
from megacpp_assets.loader.grain.source import Element


class NgramFilterTransform(grain.transforms.Map):  # type: ignore[misc]
    """Adds `instance_mask`: False where a pattern of at most `max_period` tokens stands `max_count` times or more.

    Nothing is dropped, as that would change what every host reads. `BadTokens` if `mask_value` is among the tokens;
    it stands for no token in OLMo's files.
    """

    def __init__(self, *, max_period: int = 13, min_period: int = 1, max_count: int = 32, mask_value: int = -1) -> None:
        if min_period < 1:
            raise BadArgument("min_period", expected="at least 1", found=min_period, do="give patterns a length")
        self._max_period = max_period
        self._min_period = min_period
        self._max_count = max_count
        self._mask_value = mask_value

    def map(self, element: Element) -> Element:
        """The element with `instance_mask`: a bool of a window, shape (B,) of a batch."""
        tokens = element["tokens"]
        if (tokens == self._mask_value).any():
            do = "index tokens, or give a mask_value that is no token"
            raise BadTokens("window", expected=f"no {self._mask_value}, the mask_value", found="one", do=do)
        dirty = repeats_too_often(
            tokens, max_period=self._max_period, min_period=self._min_period, max_count=self._max_count
        )
        return {**element, "instance_mask": ~dirty if dirty.ndim else not dirty}


class ShiftToInputsTargets(grain.transforms.Map):  # type: ignore[misc]
    """Gives what MaxText's trainer takes: five int32 arrays of the shape of `tokens`, and nothing else.

    `targets` are the tokens shifted left by one with 0 at the end, where `targets_segmentation` is 0 too; it is 0
    throughout where `instance_mask` is False, and 1 elsewhere. Windows are one segment: documents are not told apart.
    """

    def map(self, element: Element) -> Element:
        """`inputs`, `targets`, `inputs_position`, `inputs_segmentation`, `targets_segmentation`."""
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
