"""Exact encoding on the device: split, look up each distinct word, merge the words that are not tokens, copy the ids.

Ids, spans and offsets are those of the native encoder. In a slice no word is merged twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.tokens.encoding import Encoded, EncodedLists
from megacpp_assets.tokenizer.encoder import as_binary, utf8
from megacpp_assets.tokenizer.model import Model, make_encoder
from megacpp_assets.tokenizer.webgpu.gpu import LANES, Gpu
from megacpp_assets.tokenizer.webgpu.pool import Pool
from megacpp_assets.tokenizer.webgpu.scan import scan_calls
from megacpp_assets.tokenizer.webgpu.slices import LongPiece, Slice, slice_bytes, sliced
from megacpp_assets.tokenizer.webgpu.splitting import Split, Splitter
from megacpp_assets.tokenizer.webgpu.tables import merge_table, token_table
from megacpp_assets.tokenizer.webgpu.words import WORD_WORDS, Words, distinct_words

_SPAN_WORDS = 3
Rows = NDArray[np.uint32]
"""The id, the first character and the character after the end of each token."""


class GpuEncoder:
    """Implements `contract.tokens.encoding.TextEncoder` for a model.

    A slice has `size` bytes, by default as many as possible.

    Calls from several threads run one at a time, because they share buffers.
    """

    def __init__(self, model: Model, gpu: Gpu, size: int | None = None) -> None:
        self.vocabulary_size = len(model.keys)
        self._gpu, self._pool = gpu, Pool(gpu)
        self._size = size or slice_bytes(gpu)
        self._turn = Lock()
        self._native = make_encoder(model)
        self._splitter = Splitter(gpu, self._pool, model.whitespace, model.guards)
        tokens, reachable = model.token_bytes(), model.reachable()
        ids = {tokens[index]: index for index in reachable if len(tokens[index]) == 1}
        self._byte_ids = [ids[bytes([byte])] for byte in range(256)]
        slots, pool = token_table([tokens[index] for index in reachable], reachable)
        self._slots, self._token_bytes = gpu.upload(slots), gpu.upload(pool)
        self._merges = gpu.upload(merge_table(model.merges))
        self._widths = gpu.upload(np.array([len(token) for token in tokens], dtype=np.uint32))

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Encode each text as one document, BOS first."""
        return self.encode_bytes_batch([utf8(text) for text in texts])

    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> EncodedLists:
        """Encode each string or bytes of an Arrow array.

        It makes a Python object for each text, but not for each token.
        """
        return self.encode_bytes_batch(as_binary(texts).to_pylist()).lists()

    def encode_bytes_batch(self, texts: Sequence[bytes]) -> Encoded:
        """Encode any bytes; a byte outside of valid UTF-8 is its byte token and one character."""
        rows: list[Rows] = [np.zeros((0, _SPAN_WORDS), dtype=np.uint32)]
        begins: list[NDArray[np.int64]] = []
        total = 0
        with self._turn:
            for found, texts_at in self._parts(texts):
                begins.append(total + texts_at)
                rows.append(found)
                total += len(found)
        columns = np.concatenate(rows)
        starts, ends = (np.ascontiguousarray(columns[:, place]).view(np.int32) for place in (1, 2))
        offsets = np.concatenate([*begins, [total]]).astype(np.int64)
        return Encoded(np.ascontiguousarray(columns[:, 0]), starts, ends, offsets)

    def _parts(self, texts: Sequence[bytes]) -> Iterator[tuple[Rows, NDArray[np.int64]]]:
        """Yield (rows, indices at which texts begin) of each slice.

        The continuation of a text has no BOS, and its characters are counted from the beginning of the text.
        """
        characters = 0
        for part in sliced(self._gpu, self._splitter, texts, self._size, self._byte_ids):
            rows, begins = self._long(part) if isinstance(part, LongPiece) else self._slice(part)
            if part.continues:
                rows, begins = rows[1:].copy(), begins[:0]
                rows[:, 1:] += characters
            characters = int(rows[-1, 2])
            yield rows, begins

    def _long(self, part: LongPiece) -> tuple[Rows, NDArray[np.int64]]:
        data = np.frombuffer(part.data, dtype=np.uint8)
        ids, starts, ends, _ = self._native.encode_buffers(data, np.array([0, len(data)]), 1)
        rows = np.stack([ids, starts, ends], axis=1).astype(np.uint32)
        return rows, np.zeros(1, dtype=np.int64)

    def _slice(self, part: Slice) -> tuple[Rows, NDArray[np.int64]]:
        gpu, pool, split = self._gpu, self._pool, part.split
        size = len(split.data)
        words = distinct_words(gpu, pool, split)
        tokens = self._word_tokens(split, words)
        offsets, characters = pool.take("offsets", split.count), pool.take("characters", size + 1)
        sums = pool.take("sums", -(-(size + 1) // LANES))
        totals, places = pool.numbers("totals", split.count, 0), pool.numbers("character_places", size + 1, 0)
        gpu.run(
            [
                gpu.call("piece_tokens", [split.pieces, words.counts, words.words, offsets], split.count),
                *scan_calls(gpu, offsets, sums, totals, split.count),
                gpu.call("char_flags", [split.cells, split.sizes, characters], size + 1),
                *scan_calls(gpu, characters, sums, places, size + 1),
            ]
        )
        # The first four bytes have the number of tokens. No more rows than these are written and read.
        number = int(gpu.read(totals, 1, at=1)[0])
        texts = len(split.text_places)
        spans, text_tokens = pool.take("spans", _SPAN_WORDS * number), pool.take("text_tokens", texts)
        buffers = [split.pieces, words.counts, words.words, offsets, tokens, self._widths, characters]
        buffers += [split.cells, split.sizes, split.places, text_tokens, spans]
        gpu.run([gpu.call("token_spans", buffers, split.count)])
        rows = gpu.read(spans, _SPAN_WORDS * number).reshape(-1, _SPAN_WORDS)
        return rows, gpu.read(text_tokens, texts).astype(np.int64)

    def _word_tokens(self, split: Split, words: Words) -> Any:
        """Write the tokens of each distinct word at its first place, and their number to the last column of `words`."""
        gpu, pool, size = self._gpu, self._pool, len(split.data)
        tokens, scratch = pool.take("tokens", size), pool.take("scratch", size)
        long_words = pool.cleared("long_words", 1)
        constants = pool.take("constants", 1)
        buffers = [words.words, words.counts, split.bytes, constants, self._slots, self._token_bytes, self._merges]
        gpu.run([gpu.call("word_tokens", [*buffers, tokens, scratch, long_words], words.count)])
        if gpu.read(long_words, 1)[0]:
            rows = gpu.read(words.words, WORD_WORDS * words.count).reshape(-1, WORD_WORDS).copy()
            for index in np.flatnonzero(rows[:, 3] == 0).tolist():
                start, length = rows[index, :2].tolist()
                word = split.data[start : start + length].tobytes()
                ids = self._native.encode_ids([word])[0][1:].astype(np.uint32)  # without BOS
                gpu.write(tokens, ids, start)
                rows[index, 3] = len(ids)
            gpu.write(words.words, rows)
        return tokens
