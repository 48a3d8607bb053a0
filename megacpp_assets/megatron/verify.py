"""Verifying a Megatron prefix: every structural rule, every sidecar, and every token against the vocabulary.

There is no quick path and no fallback: whatever cannot be checked fails (docs/contracts.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.megatron_files import BIN
from megacpp_assets.megatron.channels import verify_channel
from megacpp_assets.megatron.reader import BinIdx, blocks, open_bin_idx, token_starts
from megacpp_assets.megatron.sidecars import open_sidecars

FIRST_TOKENS = 64


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was verified. `first_tokens` are the first 64 ids of document 0; `sidecars` tells whether there were any."""

    prefix: str
    documents: int
    tokens: int
    dtype: str
    max_token: int
    first_tokens: tuple[int, ...]
    sidecars: bool


def verify_prefix(prefix: Path, vocabulary_size: int) -> VerifyReport:
    """Check `<prefix>.bin` and `<prefix>.idx`, and the sidecars where there are any.

    `IndexCorrupt`, naming the file, for anything that is missing, empty, inconsistent, or not below `vocabulary_size`.
    """
    data = open_bin_idx(prefix)
    highest = _highest_token(data, prefix.name + BIN, vocabulary_size)
    sidecars = open_sidecars(prefix)
    if sidecars is not None:
        found = (sidecars.record.documents, sidecars.record.tokens)
        if found != (data.documents, len(data.tokens)):
            raise IndexCorrupt(
                f"sidecars of {prefix.name}",
                expected=f"{data.documents} documents, {len(data.tokens)} tokens",
                found=found,
            )
        starts = token_starts(data, sidecars.row_starts)
        for channel in sidecars.channels.values():
            verify_channel(channel, starts)
    return VerifyReport(
        prefix=prefix.name,
        documents=data.documents,
        tokens=len(data.tokens),
        dtype=data.header.dtype.name,
        max_token=highest,
        first_tokens=tuple(data.document(0)[:FIRST_TOKENS].tolist()),
        sidecars=sidecars is not None,
    )


def _highest_token(data: BinIdx, where: str, vocabulary_size: int) -> int:
    highest = -1
    for part in blocks(len(data.tokens)):
        tokens = data.tokens[part]
        outside = (tokens < 0) | (tokens >= vocabulary_size)
        if outside.any():
            place = int(outside.argmax())
            raise IndexCorrupt(
                f"{where}, token {part.start + place}",
                expected=f"an id from 0 to {vocabulary_size - 1}",
                found=int(tokens[place]),
                do="rebuild it with the tokenizer that the lock names",
            )
        highest = max(highest, int(tokens.max()))
    return highest
