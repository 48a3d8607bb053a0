"""Buffers and kernels of one device. A kernel is a WGSL file with one entry point, `main`, and buffers 0, 1, 2, …

The first line of a file may name parts of `shaders/common` that it needs: `//! use scan pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import wgpu
from numpy.typing import NDArray

from megacpp_assets.tokenizer.webgpu.adapter import open_device

LANES = 256
"""Invocations of a workgroup, in all kernels."""
GROUPS_PER_ROW = 65535
"""The maximum number of workgroups in one dimension in WebGPU. More workgroups use a second dimension."""
_USAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
_USE = "//! use "


@dataclass(frozen=True, slots=True)
class WorkgroupOrder:
    """The assignment of work to workgroups. No result depends on it; the race tests vary it."""

    first: int = 0
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A kernel with its buffers, ready to be dispatched on `groups` workgroups."""

    pipeline: Any
    bindings: Any
    groups: int


@dataclass(slots=True)
class Gpu:
    """A device with its compiled kernels."""

    order: WorkgroupOrder = WorkgroupOrder()
    device: Any = field(default_factory=open_device)
    _pipelines: dict[str, Any] = field(default_factory=dict)

    @property
    def most_words(self) -> int:
        """The maximum number of 32-bit words of one buffer."""
        limits = self.device.limits
        return int(min(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"]) // 4)

    def empty(self, words: int) -> Any:
        """Return a buffer of `words` zeros (u32), at least one, because a buffer must not be empty."""
        return self.device.create_buffer(size=4 * max(words, 1), usage=_USAGE)

    def upload(self, values: NDArray[Any]) -> Any:
        """Return a buffer with `values`, whose items have 32 bits."""
        buffer = self.empty(values.size)
        self.write(buffer, values)
        return buffer

    def write(self, buffer: Any, values: NDArray[Any], at: int = 0) -> None:
        """Write `values` to `buffer` from word `at` on."""
        if values.size:
            self.device.queue.write_buffer(buffer, 4 * at, np.ascontiguousarray(values))

    def read(self, buffer: Any, words: int, at: int = 0) -> NDArray[np.uint32]:
        """Return `words` words of `buffer` from word `at` on. It waits for all submitted work."""
        if words == 0:
            return np.zeros(0, dtype=np.uint32)
        return np.frombuffer(self.device.queue.read_buffer(buffer, 4 * at, 4 * words), dtype=np.uint32)

    def clear(self, buffer: Any, words: int) -> None:
        """Set the first `words` words of `buffer` to 0."""
        encoder = self.device.create_command_encoder()
        encoder.clear_buffer(buffer, 0, 4 * max(words, 1))
        self.device.queue.submit([encoder.finish()])

    def enlarged(self, buffer: Any, words: int, room: int) -> Any:
        """Return a buffer of `room` words that begins with the first `words` words of `buffer`."""
        larger = self.empty(room)
        encoder = self.device.create_command_encoder()
        encoder.copy_buffer_to_buffer(buffer, 0, larger, 0, 4 * words)
        self.device.queue.submit([encoder.finish()])
        return larger

    def call(self, name: str, buffers: Sequence[Any], items: int) -> Dispatch:
        """Return a call of kernel `name` on `buffers` (bindings 0, 1, …) with an invocation for each of `items`."""
        pipeline = self._pipeline(name)
        entries = [{"binding": at, "resource": {"buffer": buffer}} for at, buffer in enumerate(buffers)]
        bindings = self.device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        return Dispatch(pipeline, bindings, -(-items // LANES))

    def run(self, calls: Sequence[Dispatch]) -> None:
        """Run all calls in order, in one command encoder and one submit."""
        encoder = self.device.create_command_encoder()
        run_pass = encoder.begin_compute_pass()
        for call in calls:
            if call.groups:
                rows = -(-call.groups // GROUPS_PER_ROW)
                run_pass.set_pipeline(call.pipeline)
                run_pass.set_bind_group(0, call.bindings)
                run_pass.dispatch_workgroups(-(-call.groups // rows), rows)
        run_pass.end()
        self.device.queue.submit([encoder.finish()])

    def _pipeline(self, name: str) -> Any:
        if name not in self._pipelines:
            module = self.device.create_shader_module(label=name, code=shader(name))
            constants = {"FIRST_GROUP": self.order.first, "REVERSE_GROUPS": int(self.order.reverse)}
            stage = {"module": module, "entry_point": "main", "constants": constants}
            self._pipelines[name] = self.device.create_compute_pipeline(layout="auto", compute=stage)
        return self._pipelines[name]


@cache
def shared_gpu() -> Gpu:
    """Return the device of this process. Its kernels are compiled once."""
    return Gpu()


@cache
def shader(name: str) -> str:
    """Return the WGSL of kernel `name` with the common parts that it names. `grid` is part of every kernel."""
    folder = resources.files(__package__).joinpath("shaders")
    text = folder.joinpath(f"{name}.wgsl").read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    parts = ["grid", *(first.removeprefix(_USE).split() if first.startswith(_USE) else ())]
    common = [folder.joinpath("common", f"{part}.wgsl").read_text(encoding="utf-8") for part in parts]
    return "\n".join([*common, text])
