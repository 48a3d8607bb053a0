"""The tensors of a checkpoint as shards: each process writes the rows of its part, and an index records the rows.

`shards.json` has each tensor's type, shape and the rows at which the parts begin. The manifest has each file's hash.
A reader asks for rows, and only shards with those rows are opened. This module does not import torch, because quality
and lineage import it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.training.checkpoints.record import INDEX_FILE, MODEL, OPTIMIZER, shard_file


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor over all shards: shard `n` has the rows from `offsets[n]` to `offsets[n + 1]`."""

    dtype: str
    shape: tuple[int, ...]
    offsets: tuple[int, ...]


Index = Mapping[str, Mapping[str, TensorLayout]]
"""The tensors of the model and of the optimizer, by name."""


def index_of(folder: Path, shards: int) -> Index:
    """Return the index of the shards in `folder`. The rows of each shard follow those of the shard before."""
    return {kind: _of_kind(folder, kind, shards) for kind in (MODEL, OPTIMIZER)}


def _of_kind(folder: Path, kind: str, shards: int) -> dict[str, TensorLayout]:
    found: dict[str, TensorLayout] = {}
    for number in range(shards):
        with safe_open(folder / shard_file(kind, number), "np") as file:
            for name in file.keys():
                part = file.get_slice(name)
                rows, *rest = part.get_shape()
                before = found.get(name, TensorLayout(part.get_dtype(), (0, *rest), (0,) * (number + 1)))
                offsets = (*before.offsets, before.offsets[-1] + rows)
                found[name] = TensorLayout(before.dtype, (offsets[-1], *rest), offsets)
        for name, each in found.items():
            if len(each.offsets) < number + 2:  # this shard has no rows of the tensor
                found[name] = TensorLayout(each.dtype, each.shape, (*each.offsets, each.offsets[-1]))
    return found


def index_bytes(index: Index) -> bytes:
    """Return canonical JSON."""
    return canonical_json({kind: {name: asdict(each) for name, each in index[kind].items()} for kind in index})


class Shards:
    """The tensors of a published checkpoint, as arrays of `framework`: "pt" or "np".

    A shard is compared with the manifest before it is read. Raises `LineageGap` for a shard that is missing or damaged,
    or does not match the index.
    """

    def __init__(self, checkpoint: Artifact, framework: str = "pt") -> None:
        self._checkpoint, self._framework = checkpoint, framework
        self._index = _read_index(checkpoint)
        self._files: dict[str, Any] = {}

    @property
    def path(self) -> str:
        """The path of the checkpoint in its data root."""
        return self._checkpoint.path

    def tensors(self, kind: str) -> Mapping[str, TensorLayout]:
        """Return the layouts of the tensors by name."""
        return self._index[kind]

    def pieces(self, kind: str, name: str, first: int = 0, end: int | None = None) -> Iterator[Any]:
        """Yield the rows from `first` to `end` of a tensor, in the pieces that the shards have."""
        whole = self._index[kind][name]
        end = whole.shape[0] if end is None else end
        for number, (low, high) in enumerate(pairwise(whole.offsets)):
            if max(first, low) < min(end, high):
                part = self._part(shard_file(kind, number), name, whole, high - low)
                yield part[max(first, low) - low : min(end, high) - low]

    def _part(self, file: str, name: str, whole: TensorLayout, rows: int) -> Any:
        where = f"{self.path}/{file}"
        try:
            if file not in self._files:
                self._files[file] = safe_open(self._checkpoint.file(file), self._framework)
            part = self._files[file].get_slice(name)
        except SafetensorError as error:
            raise LineageGap(where, expected=f"a safetensors file with {name}", found=str(error)) from error
        expected, found = (whole.dtype, [rows, *whole.shape[1:]]), (part.get_dtype(), part.get_shape())
        if found != expected:
            raise LineageGap(f"{where}: {name}", expected=f"{expected} of {INDEX_FILE}", found=found)
        return part


def _read_index(checkpoint: Artifact) -> Index:
    where = f"{checkpoint.path}/{INDEX_FILE}"
    try:
        raw = json.loads(checkpoint.file(INDEX_FILE).read_bytes())
        return {kind: {name: _layout(each) for name, each in raw[kind].items()} for kind in (MODEL, OPTIMIZER)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LineageGap(where, expected="the index of a checkpoint's shards", found=str(error)) from error


def _layout(raw: Mapping[str, Any]) -> TensorLayout:
    """Parse the layout of one tensor. `ValueError` if its offsets do not cover its rows in order."""
    whole = TensorLayout(str(raw["dtype"]), tuple(raw["shape"]), tuple(raw["offsets"]))
    if list(whole.offsets) != sorted(whole.offsets) or (whole.offsets[0], whole.offsets[-1]) != (0, whole.shape[0]):
        raise ValueError(f"rows {whole.offsets} of {whole.shape}")
    return whole
