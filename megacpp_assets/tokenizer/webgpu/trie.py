"""The longest-match model on the device: the tokens of `tokenizer.trie`, by three kernels in one submit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.tokenizer.model import Model
from megacpp_assets.tokenizer.trie import TRIE_MODEL, Purpose, trie_tokens
from megacpp_assets.tokenizer.webgpu.flat_trie import flatten
from megacpp_assets.tokenizer.webgpu.gpu import LANES, Gpu
from megacpp_assets.tokenizer.webgpu.pool import Pool
from megacpp_assets.tokenizer.webgpu.slices import MOST_BYTES
from megacpp_assets.tokenizer.webgpu.tables import packed

CHUNK = 1024
"""The number of places that one workgroup handles."""
_WORDS_PER_BYTE = 2


class GpuTrieTokenizer:
    """`TrieTokenizer` on a device, for the same purposes and with the same tokens.

    A slice has `size` places, by default as many as the device's buffers allow. Buffers are kept between calls.
    """

    model_name = TRIE_MODEL

    def __init__(self, model: Model, purpose: Purpose, gpu: Gpu, size: int | None = None) -> None:
        tokens = trie_tokens(model, purpose)
        nodes, edges = flatten(tokens)
        self._gpu, self._pool = gpu, Pool(gpu)
        self._tokens = model.token_bytes()
        self._longest = max(len(text) for text, _ in tokens)
        self._nodes, self._edges = gpu.upload(nodes), gpu.upload(edges)
        most = min(MOST_BYTES, gpu.most_words // _WORDS_PER_BYTE - self._longest)
        self._size = (size or most) // CHUNK * CHUNK

    def encode(self, text: bytes) -> NDArray[np.int32]:
        """Return the ids of `text`.

        A token that begins in a slice belongs to it, and the next slice begins after it.
        """
        found: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
        at = 0
        while at < len(text):
            length = min(len(text) - at, self._size + self._longest)
            data = np.frombuffer(text, dtype=np.uint8, count=length, offset=at)
            ids, end = self._slice(data, min(length, self._size))
            found.append(ids)
            at += end
        return np.concatenate(found)

    def decode(self, ids: NDArray[np.int32]) -> bytes:
        """Return the bytes that were encoded."""
        return b"".join(self._tokens[index] for index in ids.tolist())

    def _slice(self, data: NDArray[np.uint8], limit: int) -> tuple[NDArray[np.int32], int]:
        """Return the ids of tokens that begin in the first `limit` bytes of `data`, and the place after these."""
        gpu, pool, chunks = self._gpu, self._pool, -(-limit // CHUNK)
        params, content = pool.numbers("params", len(data), limit, 0, 0), pool.filled("input", packed(data))
        output, counts = pool.take("token_output", 2 * limit), pool.take("chunk_counts", 2 * limit)
        offsets, total = pool.take("chunk_offsets", 2 * chunks), pool.take("total", 2)
        compact = pool.take("compact_output", limit)
        gpu.run(
            [
                gpu.call(
                    "trie_tokenizer_chunked",
                    [content, self._nodes, self._edges, output, counts, params],
                    LANES * chunks,
                ),
                gpu.call("trie_prefix_sum", [counts, offsets, total, params], 1),
                gpu.call("trie_tokenizer_compact", [output, offsets, compact, params], LANES * chunks),
            ]
        )
        # The first word is the number of tokens. No more of the output is read.
        number, end = gpu.read(total, 2).tolist()
        return gpu.read(compact, number).view(np.int32), end
