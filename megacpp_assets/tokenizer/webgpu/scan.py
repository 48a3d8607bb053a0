"""Exclusive prefix sums on the device, in three passes: within blocks of 256, over the blocks, and both together."""

from __future__ import annotations

from typing import Any

from megacpp_assets.tokenizer.webgpu.gpu import LANES, Dispatch, Gpu


def scan_calls(gpu: Gpu, values: Any, sums: Any, lengths: Any, most: int) -> list[Dispatch]:
    """Return calls that replace `values` (u32) by their exclusive prefix sums.

    `lengths[0]` is the number of values, at most `most`. `lengths[1]` becomes their sum; without values it does not
    change. `sums` is scratch memory with a word for each 256 values.
    """
    return [
        gpu.call("scan_pass1", [values, sums, lengths], most),
        gpu.call("scan_pass2", [sums, lengths], LANES),
        gpu.call("scan_pass3", [values, sums, lengths], most),
    ]
