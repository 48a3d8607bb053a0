"""Writes tensors to a safetensors file that everybody may read who may read the other files of an artifact."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor


def save_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str]) -> None:
    """Write `tensors` to `path`, with the mode that the umask gives a new file: safetensors writes it for its owner."""
    path.touch()
    mode = path.stat().st_mode
    save_file(dict(tensors), path, dict(metadata))
    path.chmod(mode)
