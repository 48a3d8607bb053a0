"""Word counts of a corpus: each slice of texts is split and counted by itself, then added to what came before."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from megacpp_assets.tokenizer.gpu.slices import SLICE_BYTES, sliced
from megacpp_assets.tokenizer.gpu.split import WORD, Splitter
from megacpp_assets.tokenizer.gpu.words import Words, compacted, distinct, joined, no_words


def count_words(
    texts: Iterable[bytes], splitter: Splitter, device: torch.device, slice_bytes: int = SLICE_BYTES
) -> Words:
    """Distinct words of `texts` with their counts; guards and stray bytes are left out, as on the CPU."""
    total = no_words(device)
    for part in sliced(texts, splitter, device, slice_bytes):
        words = part.pieces.guards == WORD
        starts, lengths = part.pieces.starts[words], part.pieces.lengths[words]
        found, _ = distinct(Words(part.layout.cells, starts, lengths, torch.ones_like(starts)))
        total, _ = distinct(joined(total, compacted(found)))
        total = compacted(total)
    return total
