"""Examines this machine: which requirements it meets, and what to install for the others."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from megacpp_assets.compute.tokenizer_device import GPU, tokenizer_device
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.repos.git import MINIMUM_GIT, require_git
from megacpp_assets.semantic.commands.database.configure import require_sandbox
from megacpp_assets.semantic.commands.toolchain import find_toolchain

_DISK_BYTES = 2_000_000_000
_MEMORY_BYTES = 4_000_000_000


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """The result for one requirement. `needed` is false where the pipeline runs without it."""

    name: str
    good: bool
    found: str
    advice: str
    needed: bool = True


def examine(root: Path) -> list[RequirementResult]:
    """Examine every requirement, in a fixed order. A missing one gives a finding, not an error."""
    adapter = [_adapter()] if tokenizer_device() == GPU else []
    return [_toolchain(), _git(), _sandbox(), _compiler(), _torch(), _gpu(), *adapter, _disk(root), _memory()]


def _toolchain() -> RequirementResult:
    """libclang must parse <stddef.h> and <vector> without a diagnostic."""

    def probe() -> str:
        return "; ".join(f"{name.replace('_', ' ')} {version}" for name, version in find_toolchain().identity.items())

    return _attempt("libclang", probe, "apt-get install g++ libc6-dev")


def _git() -> RequirementResult:
    return _attempt("git", require_git, f"install git {'.'.join(map(str, MINIMUM_GIT))} or newer")


def _sandbox() -> RequirementResult:
    """Only `--configure` needs it: bubblewrap must start the cmake that it would run."""
    return _attempt("sandbox", require_sandbox, "apt-get install bubblewrap", needed=False)


def _attempt(name: str, probe: Callable[[], str], advice: str, *, needed: bool = True) -> RequirementResult:
    try:
        return RequirementResult(name, True, probe(), advice, needed)
    except MegacppError as error:
        return RequirementResult(name, False, error.cause, advice, needed)


def _compiler() -> RequirementResult:
    path = shutil.which("g++")
    return RequirementResult(
        "g++", path is not None, path or "not found", "apt-get install g++ (its standard library is parsed)"
    )


def _torch() -> RequirementResult:
    # Imported here: torch takes seconds to load, and only this probe needs it.
    from megacpp_assets.training.accelerators import torch_build  # noqa: PLC0415

    return RequirementResult("torch", True, torch_build(), "")


def _gpu() -> RequirementResult:
    from megacpp_assets.training.accelerators import accelerators  # noqa: PLC0415

    found = accelerators()
    advice = 'only needed for training.device = "cuda": a driver, and a CUDA build of torch'
    return RequirementResult("GPU", bool(found), "; ".join(found) or "torch finds no CUDA device", advice, needed=False)


def _adapter() -> RequirementResult:
    """Needed where MEGACPP_TOKENIZER_DEVICE=gpu asks for it."""

    def probe() -> str:
        # Imported here: it needs the extra gpu.
        from megacpp_assets.tokenizer.webgpu.adapter import describe, open_adapter  # noqa: PLC0415

        return describe(open_adapter())

    return _attempt("adapter", probe, "pip install 'megacpp-assets[gpu]', apt-get install mesa-vulkan-drivers")


def _disk(root: Path) -> RequirementResult:
    place = next(path for path in (root, *root.parents) if path.exists())
    free = shutil.disk_usage(place).free
    return RequirementResult(
        "free disk", free >= _DISK_BYTES, f"{free / 1e9:.1f} GB", "2 GB for the sample, 100 GB upstream"
    )


def _memory() -> RequirementResult:
    total = psutil.virtual_memory().total
    return RequirementResult("memory", total >= _MEMORY_BYTES, f"{total / 1e9:.1f} GB", "at least 4 GB")
