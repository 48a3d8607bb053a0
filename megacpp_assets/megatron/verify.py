"""Verifies a Megatron prefix: every structural rule, every sidecar, and every token compared with the vocabulary.

There is no quick mode and no fallback: a file that cannot be checked fails (docs/contracts.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.megatron_files import BIN
from megacpp_assets.megatron.pair.reader import BinIdx, blocks, open_bin_idx, token_starts
from megacpp_assets.megatron.sidecars.channels import verify_channel
from megacpp_assets.megatron.sidecars.sidecars import open_sidecars, require_one_sequence_per_document

FIRST_TOKENS = 64


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Facts about a prefix that passed verification.

    `first_tokens` are the first 64 values of document 0. `sidecars` says whether the prefix has sidecars. `modes`
    counts the sequences of each mode of a multimodal pair; it is empty for other pairs.
    """

    prefix: str
    documents: int
    sequences: int
    tokens: int
    dtype: str
    max_token: int | float
    first_tokens: tuple[int | float, ...]
    sidecars: bool
    modes: Mapping[int, int]


def verify_prefix(prefix: Path, vocabulary_size: int, *, multimodal: bool = False) -> VerifyReport:
    """Verify `<prefix>.bin`, `<prefix>.idx` and the sidecars if there are any.

    Raises `IndexCorrupt`, which names the file, if a file is missing, empty or inconsistent, if an id is not below
    `vocabulary_size`, or if a value of a pair of floats is not finite.
    """
    data = open_bin_idx(prefix, multimodal=multimodal)
    highest = _highest_value(data, prefix.name + BIN, vocabulary_size)
    sidecars = open_sidecars(prefix)
    if sidecars is not None:
        require_one_sequence_per_document(data, sidecars)
        starts = token_starts(data, sidecars.row_starts)
        for channel in sidecars.channels.values():
            verify_channel(channel, starts)
    return VerifyReport(
        prefix=prefix.name,
        documents=data.documents,
        sequences=data.sequences,
        tokens=len(data.tokens),
        dtype=data.header.dtype.name,
        max_token=highest,
        first_tokens=tuple(data.document(0)[:FIRST_TOKENS].tolist()),
        sidecars=sidecars is not None,
        modes={} if data.modes is None else _counts(data.modes),
    )


def _counts(modes: NDArray[np.int8]) -> dict[int, int]:
    values, counts = np.unique(modes, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _highest_value(data: BinIdx, where: str, vocabulary_size: int) -> int | float:
    ids = data.header.holds_token_ids
    highest: int | float = -1 if ids else -math.inf
    for part in blocks(len(data.tokens)):
        tokens = data.tokens[part]
        outside = (tokens < 0) | (tokens >= vocabulary_size) if ids else ~np.isfinite(tokens)
        if outside.any():
            place = int(outside.argmax())
            raise IndexCorrupt(
                f"{where}, token {part.start + place}",
                expected=f"an id from 0 to {vocabulary_size - 1}" if ids else "a finite number",
                found=tokens[place].item(),
                do="rebuild it with the tokenizer that the lock names" if ids else "write the pair again",
            )
        highest = max(highest, tokens.max().item())
    return highest
