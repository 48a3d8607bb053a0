"""Divides texts into slices that fit on the device. The pieces are those of the whole texts, wherever slices end.

A text longer than a slice is cut after a piece that no later byte can change. Native code handles a piece that is
longer than a slice, in linear time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from megacpp_assets.tokenizer.webgpu.gpu import Gpu
from megacpp_assets.tokenizer.webgpu.splitting import PIECE_WORDS, Split, Splitter

MOST_BYTES = 16 << 20
_WORDS_PER_BYTE = 4
"""The number of words of the largest buffers for each byte of a slice."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The pieces of a slice. `continues`: its only text is the continuation of the last text of the previous slice."""

    split: Split
    continues: bool


@dataclass(frozen=True, slots=True)
class LongPiece:
    """A piece that is longer than a slice. Native code handles it."""

    data: bytes
    continues: bool


def slice_bytes(gpu: Gpu) -> int:
    """Return the number of bytes of text that the device can handle at once, by its limits."""
    return min(MOST_BYTES, gpu.most_words // _WORDS_PER_BYTE)


def sliced(
    gpu: Gpu, splitter: Splitter, texts: Iterable[bytes], size: int, byte_ids: Sequence[int] = (0,) * 256
) -> Iterator[Slice | LongPiece]:
    """Yield all pieces of all texts in order, in slices of at most about `size` bytes."""
    for batch in batches(texts, size):
        if len(batch) == 1 and len(batch[0]) > size:
            yield from _cut(gpu, splitter, batch[0], size, byte_ids)
        else:
            yield Slice(splitter.split(batch, byte_ids), continues=False)


def batches(texts: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Yield lists of whole texts of at most `size` bytes, with one byte before each text; or one longer text."""
    batch: list[bytes] = []
    used = 0
    for text in texts:
        if batch and used + len(text) + 1 > size:
            yield batch
            batch, used = [], 0
        batch.append(text)
        used += len(text) + 1
    if batch:
        yield batch


def _cut(gpu: Gpu, splitter: Splitter, text: bytes, size: int, byte_ids: Sequence[int]) -> Iterator[Slice | LongPiece]:
    """Yield the slices of one long text.

    Each slice begins where a piece of the text begins. So its pieces are those of the text, except near its end, where
    the following text may change them.
    """
    at = 0
    while at < len(text):
        split = splitter.split([text[at : at + size]], byte_ids)
        ends = gpu.read(split.pieces, PIECE_WORDS * split.count).reshape(-1, PIECE_WORDS)[:, 1] - 1
        kept = len(ends)
        if at + size < len(text):
            # A piece may depend on the whole next piece (blanks between `#` and a directive) and `look` more bytes.
            kept = int((ends <= size - splitter.look).sum()) - 1
        if kept > 1:
            yield Slice(replace(split, count=kept), continues=at > 0)
            at += int(ends[kept - 1])
        else:
            length = _first_piece(splitter, text, at, size)
            yield LongPiece(text[at : at + length], continues=at > 0)
            at += length


def _first_piece(splitter: Splitter, text: bytes, at: int, size: int) -> int:
    """Return the length of the piece at `at` if it does not end within `size` bytes. Native code splits twice as many
    bytes, until it ends.
    """
    while True:
        size *= 2
        found = splitter.native.split(text[at : at + size])
        if at + size >= len(text) or (len(found) > 1 and len(found[0]) + len(found[1]) <= size - splitter.look):
            return len(found[0])
