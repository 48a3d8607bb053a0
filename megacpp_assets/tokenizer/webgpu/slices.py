"""Texts in slices that the device can hold: the pieces are those of the whole texts, wherever slices end.

A text longer than a slice is cut behind a piece that no later byte can change. A piece longer than that is left to the
native code, whose time grows with its length alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from megacpp_assets.tokenizer.webgpu.gpu import Gpu
from megacpp_assets.tokenizer.webgpu.splitting import PIECE_WORDS, Split, Splitter

MOST_BYTES = 16 << 20
_WORDS_PER_BYTE = 4
"""The largest buffers have as many words for each byte of a slice."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The pieces of a slice. `continues`: its only text is the rest of the one that ended the slice before."""

    split: Split
    continues: bool


@dataclass(frozen=True, slots=True)
class LongPiece:
    """The next piece of a text that is longer than a slice; native code takes it."""

    data: bytes
    continues: bool


def slice_bytes(gpu: Gpu) -> int:
    """Bytes of text that the device takes at a time, by its limits."""
    return min(MOST_BYTES, gpu.most_words // _WORDS_PER_BYTE)


def sliced(
    gpu: Gpu, splitter: Splitter, texts: Iterable[bytes], size: int, byte_ids: Sequence[int] = (0,) * 256
) -> Iterator[Slice | LongPiece]:
    """All pieces of all texts in order, in slices of at most about `size` bytes."""
    for batch in batches(texts, size):
        if len(batch) == 1 and len(batch[0]) > size:
            yield from _cut(gpu, splitter, batch[0], size, byte_ids)
        else:
            yield Slice(splitter.split(batch, byte_ids), continues=False)


def batches(texts: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Lists of whole texts that take at most `size` bytes, a byte in front of each included; or one longer text."""
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
    """The slices of one long text. Each begins where a piece of the text does, so its pieces are the text's but near
    its end, where more text may change them."""
    at = 0
    while at < len(text):
        split = splitter.split([text[at : at + size]], byte_ids)
        ends = gpu.read(split.pieces, PIECE_WORDS * split.count).reshape(-1, PIECE_WORDS)[:, 1] - 1
        kept = len(ends)
        if at + size < len(text):
            # A piece may depend on all of the next one (blanks between a hash and its directive), and `look` further.
            kept = int((ends <= size - splitter.look).sum()) - 1
        if kept > 1:
            yield Slice(replace(split, count=kept), continues=at > 0)
            at += int(ends[kept - 1])
        else:
            length = _first_piece(splitter, text, at, size)
            yield LongPiece(text[at : at + length], continues=at > 0)
            at += length


def _first_piece(splitter: Splitter, text: bytes, at: int, size: int) -> int:
    """Bytes of the piece at `at`, which `size` bytes cannot settle: twice as many are split natively, and so on."""
    while True:
        size *= 2
        found = splitter.native.split(text[at : at + size])
        if at + size >= len(text) or (len(found) > 1 and len(found[0]) + len(found[1]) <= size - splitter.look):
            return len(found[0])
