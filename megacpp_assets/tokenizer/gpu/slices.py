"""Texts in slices that the device can hold, split there: the pieces are those of the whole texts, wherever slices end.

Splitting takes about 200 bytes of device memory for each byte of a slice. A text longer than a slice is cut behind a
piece that no later byte can change; the end of a word longer than that is found on the host, and takes no splitting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from megacpp_assets.tokenizer.gpu.layout import Layout, lay_out
from megacpp_assets.tokenizer.gpu.split import WORD, Pieces, Splitter

SLICE_BYTES = 64 << 20
"""Bytes of text on the device at a time."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Pieces of `layout`, ascending and without a gap in each text; those of a text that is cut end before it does.
    `continues`: its text is the rest of the one that ended the slice before."""

    layout: Layout
    pieces: Pieces
    continues: bool


def sliced(texts: Iterable[bytes], splitter: Splitter, device: torch.device, slice_bytes: int) -> Iterator[Slice]:
    """All pieces of all texts, in order."""
    for batch in slices(texts, slice_bytes):
        if len(batch) == 1 and len(batch[0]) > slice_bytes:
            yield from _cut(batch[0], splitter, device, slice_bytes)
        else:
            layout = lay_out(batch, device)
            yield Slice(layout, splitter.split(layout), continues=False)


def slices(texts: Iterable[bytes], slice_bytes: int) -> Iterator[Sequence[bytes]]:
    """Lists of whole texts of about `slice_bytes` each; a longer text is a list of its own."""
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


def _cut(text: bytes, splitter: Splitter, device: torch.device, slice_bytes: int) -> Iterator[Slice]:
    """The slices of one long text. Each begins where a piece of the text does, so its pieces are the text's but near
    its end, where more text may change them."""
    at = 0
    while at < len(text):
        layout = lay_out([text[at : at + slice_bytes]], device)
        pieces = splitter.split(layout)
        ends = pieces.starts + pieces.lengths
        if at + slice_bytes < len(text):
            # A piece may depend on all of the next one (blanks between a hash and its directive), and `look` further.
            kept = max(0, int((ends <= slice_bytes - splitter.look).sum()) - 1)
        else:
            kept = len(ends)
        if kept:
            yield Slice(layout, Pieces(*(column[:kept] for column in _columns(pieces))), continues=at > 0)
            at += int(ends[kept - 1])
        else:
            size = _first_piece(text, at, splitter, slice_bytes)
            yield _one_piece(text[at : at + size], splitter, device, slice_bytes, continues=at > 0)
            at += size


def _columns(pieces: Pieces) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return pieces.starts, pieces.lengths, pieces.guards


def _first_piece(text: bytes, at: int, splitter: Splitter, size: int) -> int:
    """Bytes of the piece at `at`, which `size` bytes cannot settle: twice as many are split on the host, and so on."""
    while True:
        size *= 2
        found = splitter.native.split(text[at : at + size])
        if at + size >= len(text) or (len(found) > 1 and len(found[0]) + len(found[1]) <= size - splitter.look):
            return len(found[0])


def _one_piece(piece: bytes, splitter: Splitter, device: torch.device, slice_bytes: int, *, continues: bool) -> Slice:
    """A slice of one piece. Only a word can be longer than a slice; it is well-formed, and a piece by itself too."""
    if len(piece) <= slice_bytes:
        layout = lay_out([piece], device)
        return Slice(layout, splitter.split(layout), continues)
    cells = torch.from_numpy(np.frombuffer(piece, dtype=np.uint8).astype(np.int16)).to(device)
    start = torch.zeros(1, dtype=torch.int64, device=device)
    lead = (cells & 0xC0) != 0x80
    layout = Layout(cells, start, lead, torch.zeros_like(lead))
    return Slice(layout, Pieces(start, start + len(piece), start + WORD), continues)
