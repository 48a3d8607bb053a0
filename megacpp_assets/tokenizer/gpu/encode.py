"""Exact encoding on the device: split, look up each distinct word, merge those that are no token, spread the ids.

Ids, spans and offsets are those of the native encoder. A slice of texts at a time; in it no word is merged twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from megacpp_assets.contract.encoding import Encoded, EncodedLists
from megacpp_assets.contract.specials import BOS_ID
from megacpp_assets.tokenizer.encoder import as_binary, utf8
from megacpp_assets.tokenizer.gpu.dictionary import Dictionary
from megacpp_assets.tokenizer.gpu.layout import Layout
from megacpp_assets.tokenizer.gpu.slices import SLICE_BYTES, Slice, sliced
from megacpp_assets.tokenizer.gpu.split import STRAY, WORD, Pieces, Splitter
from megacpp_assets.tokenizer.gpu.words import Words, distinct
from megacpp_assets.tokenizer.model import Model

Columns = tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.int32]]
"""Ids, char starts, char ends."""


class GpuEncoder:
    """Implements `contract.encoding.TextEncoder` for a model, on `device`."""

    def __init__(self, model: Model, device: torch.device, slice_bytes: int = SLICE_BYTES) -> None:
        self.vocabulary_size = len(model.keys)
        self._device = device
        self._slice_bytes = slice_bytes
        self._splitter = Splitter(model.whitespace, model.guards, device)
        self._dictionary = Dictionary(model, device)
        self._guard_ids = torch.tensor(list(model.guards.values()), dtype=torch.int32, device=device)

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Encode each text as one document, BOS first."""
        return self.encode_bytes_batch([utf8(text) for text in texts])

    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> EncodedLists:
        """Encode each string or bytes of an Arrow array: a Python object for each text, none for a token."""
        return self.encode_bytes_batch(as_binary(texts).to_pylist()).lists()

    def encode_bytes_batch(self, texts: Sequence[bytes]) -> Encoded:
        """Encode any bytes; a byte outside of valid UTF-8 is its byte token and one character."""
        parts: list[Columns] = []
        counts: list[NDArray[np.int64]] = []
        for part in sliced(texts, self._splitter, self._device, self._slice_bytes):
            before = int(parts[-1][2][-1]) if part.continues else 0
            columns, number = self._slice(part, before)
            if part.continues:
                counts[-1][-1] += number[0]
            else:
                counts.append(number)
            parts.append(columns)
        ids, starts, ends = (
            np.concatenate([part[place] for part in parts]) if parts else np.zeros(0, dtype)
            for place, dtype in enumerate((np.uint32, np.int32, np.int32))
        )
        return Encoded(ids, starts, ends, np.cumsum(np.concatenate([np.zeros(1, np.int64), *counts])))

    def _slice(self, part: Slice, before: int) -> tuple[Columns, NDArray[np.int64]]:
        """The encodings of one slice, whose first text has `before` characters in earlier ones; tokens of each text."""
        layout, pieces = part.layout, part.pieces
        ids, counts = self._tokens(layout, pieces)
        widths = self._dictionary.widths[ids.long()]
        piece = torch.repeat_interleave(torch.arange(len(counts), device=self._device), counts)
        within = widths.cumsum(0) - widths
        first = (counts.cumsum(0) - counts)[piece]
        begin = pieces.starts[piece] + within - within[first]
        text = torch.searchsorted(layout.starts, begin, right=True) - 1
        starts, ends = _char_spans(layout, begin, begin + widths, text)
        number = torch.bincount(text, minlength=len(layout.starts))
        if not part.continues:
            return self._with_bos(ids, (starts, ends), number)
        found = [column.to(torch.int32).cpu().numpy() for column in (ids, starts + before, ends + before)]
        return (found[0].view(np.uint32), found[1], found[2]), number.cpu().numpy()

    def _tokens(self, layout: Layout, pieces: Pieces) -> tuple[Tensor, Tensor]:
        """Ids of all pieces in order, and how many each has."""
        is_word = pieces.guards == WORD
        starts, lengths = pieces.starts[is_word], pieces.lengths[is_word]
        words, group = distinct(Words(layout.cells, starts, lengths, torch.ones_like(starts)))
        tokens, counts = self._dictionary.encode(words)
        single = torch.where(
            pieces.guards == STRAY,
            self._dictionary.byte_ids[layout.cells[pieces.starts].long()],
            self._guard_ids[pieces.guards.clamp(min=0)] if len(self._guard_ids) else 0,
        )
        number = torch.ones_like(pieces.starts)
        number[is_word] = counts[group]
        source = torch.full_like(pieces.starts, 0)
        source[is_word] = (counts.cumsum(0) - counts)[group]
        pool = torch.cat([tokens, single.to(tokens.dtype)])
        source[~is_word] = len(tokens) + torch.nonzero(~is_word).flatten()
        shift = source - (number.cumsum(0) - number)
        total = torch.arange(int(number.sum()), device=self._device)
        return pool[total + torch.repeat_interleave(shift, number)], number

    def _with_bos(self, ids: Tensor, spans: tuple[Tensor, Tensor], counts: Tensor) -> tuple[Columns, NDArray[np.int64]]:
        """BOS with the empty span before the tokens of each text."""
        text = torch.repeat_interleave(torch.arange(len(counts), device=self._device), counts)
        place = torch.arange(len(ids), device=self._device) + text + 1
        size = len(ids) + len(counts)
        columns = []
        for values, filler in ((ids, BOS_ID), (spans[0], 0), (spans[1], 0)):
            column = torch.full((size,), filler, dtype=torch.int32, device=self._device)
            column[place] = values.to(torch.int32)
            columns.append(column.cpu().numpy())
        return (columns[0].view(np.uint32), columns[1], columns[2]), (counts + 1).cpu().numpy()


def _char_spans(layout: Layout, begin: Tensor, end: Tensor, text: Tensor) -> tuple[Tensor, Tensor]:
    """Character spans of byte spans: from the character of the first byte to behind that of the last."""
    opens = layout.lead | layout.stray
    before = torch.cat([opens.new_zeros(1, dtype=torch.int64), opens.cumsum(0)])
    base = before[layout.starts[text]]
    return before[begin] - (~opens[begin]).long() - base, before[end] - base
