"""The longest-match tokenizer on the device: the ids of `tokenizer.trie`, for a batch of texts at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from megacpp_assets.tokenizer.gpu.kernels.trie import longest_tokens
from megacpp_assets.tokenizer.gpu.layout import END, lay_out
from megacpp_assets.tokenizer.gpu.scan import visited
from megacpp_assets.tokenizer.gpu.slices import SLICE_BYTES, slices
from megacpp_assets.tokenizer.model import Model
from megacpp_assets.tokenizer.trie import TRIE_MODEL, Purpose, build_trie, trie_tokens

LANES = 256


class GpuTrieTokenizer:
    """`trie.TrieTokenizer` on `device`, about `slice_bytes` of text at a time."""

    model_name = TRIE_MODEL

    def __init__(self, model: Model, purpose: Purpose, device: torch.device, slice_bytes: int = SLICE_BYTES) -> None:
        tokens = model.token_bytes()
        trie = build_trie(trie_tokens(model, purpose))
        arrays = (trie.edge_bytes, trie.children, trie.ids, trie.root, trie.second, trie.first, trie.count)
        self._device = device
        self._tables = tuple(torch.from_numpy(array.astype(np.int32)).to(device) for array in arrays)
        self._widths = np.array([len(token) for token in tokens], dtype=np.int64)
        self._lengths = torch.from_numpy(self._widths).to(device)
        self._longest = trie.longest
        self._slice_bytes = slice_bytes

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        """The ids of each text."""
        found: list[NDArray[np.int32]] = []
        for batch in slices(texts, self._slice_bytes):
            if len(batch[0]) > self._slice_bytes:
                found.append(np.concatenate(list(self._cut(batch[0]))))
            else:
                found.extend(self._encode(batch))
        return found

    def _cut(self, text: bytes) -> Iterator[NDArray[np.int32]]:
        """The ids of one long text. A slice goes on for as many bytes as a token has, and the next one begins behind
        the last token that begins in the slice: so where slices end does not show."""
        at = 0
        while at < len(text):
            (ids,) = self._encode([text[at : at + self._slice_bytes + self._longest]])
            ends = np.cumsum(self._widths[ids])
            kept = int(np.searchsorted(ends - self._widths[ids], self._slice_bytes))
            yield ids[:kept]
            at += int(ends[kept - 1])

    def _encode(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        """The ids of each of some texts that fit the device together."""
        layout = lay_out(texts, self._device)
        size = len(layout.cells)
        ids = torch.empty(size, dtype=torch.int32, device=self._device)
        grid = (triton.cdiv(size, LANES),)
        longest_tokens[grid](layout.cells, *self._tables, ids, size, LANES=LANES)
        inside = layout.cells != END
        at = torch.arange(size, device=self._device)
        jump = torch.where(inside, at + self._lengths[ids.clamp(min=0).long()], size)
        jump = torch.cat([jump, jump.new_full((1,), size)])
        starts = torch.nonzero(visited(jump, layout.starts)[:-1] & inside).flatten()
        owners = torch.searchsorted(layout.starts, starts, right=True) - 1
        counts = torch.bincount(owners, minlength=len(texts)).cpu()
        return [part.numpy() for part in torch.split(ids[starts].cpu(), counts.tolist())]
