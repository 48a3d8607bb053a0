"""The cache report of a prefix: what a training launch will find, from the index alone.

Megatron's own sample index depends on seed, sequence length, batch and iterations and is built at launch in seconds, so
none is built ahead (seed 002, stage 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.megatron.reader import open_bin_idx


@dataclass(frozen=True, slots=True)
class CacheReport:
    """Documents, tokens, dtype of the tokens, and the shortest and longest document in tokens."""

    documents: int
    tokens: int
    dtype: str
    shortest: int
    longest: int


def cache_report(prefix: Path) -> CacheReport:
    """Report on `<prefix>.bin` and `<prefix>.idx`; `IndexCorrupt` if they contradict each other."""
    data = open_bin_idx(prefix)
    return CacheReport(
        data.documents,
        len(data.tokens),
        data.header.dtype.name,
        int(data.lengths.min()),
        int(data.lengths.max()),
    )
