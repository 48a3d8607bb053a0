"""Word counts of a corpus: each slice of texts is split and counted by itself, then added to what came before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from megacpp_assets.tokenizer.gpu.layout import lay_out
from megacpp_assets.tokenizer.gpu.split import WORD, Splitter
from megacpp_assets.tokenizer.gpu.words import Words, compacted, distinct, joined, no_words

SLICE_BYTES = 64 << 20
"""Bytes of text on the device at a time; splitting needs about 200 bytes for each of them."""


def count_words(
    texts: Iterable[bytes], splitter: Splitter, device: torch.device, slice_bytes: int = SLICE_BYTES
) -> Words:
    """Distinct words of `texts` with their counts; guards and stray bytes are left out, as on the CPU."""
    total = no_words(device)
    for batch in slices(texts, slice_bytes):
        layout = lay_out(batch, device)
        pieces = splitter.split(layout)
        words = pieces.guards == WORD
        starts, lengths = pieces.starts[words], pieces.lengths[words]
        found, _ = distinct(Words(layout.cells, starts, lengths, torch.ones_like(starts)))
        total, _ = distinct(joined(total, compacted(found)))
        total = compacted(total)
    return total


def slices(texts: Iterable[bytes], slice_bytes: int) -> Iterable[Sequence[bytes]]:
    """Lists of whole texts of about `slice_bytes` each; a longer text is a slice of its own."""
    batch: list[bytes] = []
    size = 0
    for text in texts:
        if batch and size + len(text) > slice_bytes:
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
