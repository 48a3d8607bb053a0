"""Bits per byte of the model on the held-out files, by role, category and repository of the text.

Bits per byte, unlike a loss per token, can be compared between tokenizers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from torch import Tensor

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.names import ROLE_NAMES, ROOT_ROLE, STRUCTURE_CATEGORIES, VALID_SPLIT
from megacpp_assets.loader.rows import PackedRows, RowBatch, open_rows
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.model import byte_lengths
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.sharding import reshard


@dataclass(frozen=True, slots=True)
class ValidationRows:
    """The rows that are measured: those with the `numbers` among `rows`.

    The repository of token `t` of the split is `repositories[repository_of[t]]`. `lengths` has the bytes of each id.
    """

    rows: PackedRows
    numbers: NDArray[np.int64]
    repositories: tuple[str, ...]
    repository_of: NDArray[np.int32]
    lengths: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Validation:
    """The summed loss of the measured text in nats, and its size in bytes, for each group of text.

    `names`, `nats` and `bytes` have one entry for each role, then for each category, then for each repository.
    """

    names: tuple[tuple[str, str], ...]
    nats: NDArray[np.float64]
    bytes: NDArray[np.int64]

    def as_stats(self) -> dict[str, Any]:
        """Return bits per byte of the roots' text, which is the main figure, and by role, category and repository."""
        found: dict[str, Any] = {}
        for (kind, name), nats, size in zip(self.names, self.nats.tolist(), self.bytes.tolist(), strict=True):
            if size:
                found.setdefault(f"validation_by_{kind}", {})[name] = round(nats / math.log(2) / size, 6)
        roots = found.get("validation_by_role", {}).get(ROLE_NAMES[ROOT_ROLE])
        main = {} if roots is None else {"validation_bits_per_byte": roots}
        return main | {"validation_bytes": int(self.bytes[: len(ROLE_NAMES)].sum())} | found


def open_held_out(
    megatron: Artifact,
    tokenizer: Artifact,
    dataset: str,
    most_rows: int,
    *,
    chunks: bool = False,
    platforms: bool = False,
) -> ValidationRows | None:
    """Return at most `most_rows` rows of the held-out split, evenly spaced; None without rows or if `most_rows` is 0.

    `chunks` and `platforms` are read for models that use them.
    """
    if not most_rows or not int(megatron.manifest.stats.get("valid_rows", 0)):
        return None
    rows = open_rows(megatron, dataset, VALID_SPLIT, chunks=chunks, platforms=platforms)
    file = megatron.file(files.prefix_name(dataset, VALID_SPLIT) + files.DOCUMENTS)
    documents = pq.ParquetFile(file).read()
    repositories, codes = np.unique(documents[c.REPO].to_numpy(zero_copy_only=False), return_inverse=True)
    return ValidationRows(
        rows=rows,
        numbers=np.unique(np.linspace(0, len(rows) - 1, most_rows).astype(np.int64)),
        repositories=tuple(map(str, repositories)),
        repository_of=np.repeat(codes.astype(np.int32), documents[c.TOKENS].to_numpy()),
        lengths=byte_lengths(tokenizer.file(c.TOKENIZER_FILE).read_bytes()),
    )


@torch.no_grad()
def validate(model: GPT, held_out: ValidationRows, ranks: Ranks) -> Validation:
    """Measure `model` on the held-out rows, each rank on its share. Every rank gets the result of all rows."""
    names = (
        *(("role", name) for name in ROLE_NAMES),
        *(("category", name) for name in STRUCTURE_CATEGORIES),
        *(("repository", name) for name in held_out.repositories),
    )
    nats, sizes = np.zeros(len(names)), np.zeros(len(names))
    for number, mine in _share(held_out.numbers, ranks):
        batch = held_out.rows.batch(np.array([number]))
        losses, targets, places = nats_of(model, batch, ranks.device)
        for group in _groups(held_out, number, batch, places):
            np.add.at(nats, group, losses * mine)
            np.add.at(sizes, group, held_out.lengths[targets] * mine)
    reshard(model)
    nats, sizes = (ranks.sum(torch.from_numpy(values).to(ranks.device)).cpu().numpy() for values in (nats, sizes))
    return Validation(names, nats, sizes.astype(np.int64))


def _share(numbers: NDArray[np.int64], ranks: Ranks) -> Iterator[tuple[int, bool]]:
    """Yield the rows of this rank, and whether they count.

    All ranks of a sharded model must compute equally often, so some ranks compute one more row that does not count.
    """
    yield from ((number, True) for number in numbers[ranks.rank :: ranks.world].tolist())
    if ranks.sharded and len(numbers) % ranks.world > 0 and ranks.rank >= len(numbers) % ranks.world:
        yield int(numbers[0]), False


@torch.no_grad()
def nats_of(
    model: GPT, batch: RowBatch, device: torch.device
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the loss in nats, the id and the position of each token that has a loss, for a batch of one row."""
    inputs = model_input(batch, device, softcap=model.config.softcap)
    places = torch.nonzero(inputs.loss_mask[0])[:, 0]
    losses = model.token_losses(inputs, places)
    return _on_cpu(losses.double()), _on_cpu(inputs.target_ids[0][places]), _on_cpu(places) + 1


def _groups(
    held_out: ValidationRows, number: int, batch: RowBatch, places: NDArray[np.int64]
) -> tuple[NDArray[np.integer[Any]], ...]:
    """Return the indices in `Validation.names` of each token's role, category and repository."""
    start = int(held_out.rows.starts[number])
    categories = batch.structure["structure_ids"][0][places]
    repositories = held_out.repository_of[start : int(held_out.rows.starts[number + 1])][places]
    first = len(ROLE_NAMES) + len(STRUCTURE_CATEGORIES)
    return batch.roles[0][places], categories + len(ROLE_NAMES), repositories + first


def _on_cpu(values: Tensor) -> NDArray[Any]:
    return np.asarray(values.cpu().numpy())
