"""The longest-match tokenizer on the device: the ids of `tokenizer.trie`, for a batch of texts at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from megacpp_assets.tokenizer.gpu.layout import END, lay_out
from megacpp_assets.tokenizer.gpu.scan import visited
from megacpp_assets.tokenizer.gpu.trie_kernels import longest_tokens
from megacpp_assets.tokenizer.model import Model
from megacpp_assets.tokenizer.trie import TRIE_MODEL, Purpose, build_trie, trie_tokens

LANES = 256


class GpuTrieTokenizer:
    """`trie.TrieTokenizer` on `device`."""

    model_name = TRIE_MODEL

    def __init__(self, model: Model, purpose: Purpose, device: torch.device) -> None:
        tokens = model.token_bytes()
        trie = build_trie(trie_tokens(model, purpose))
        arrays = (trie.edge_bytes, trie.children, trie.ids, trie.root, trie.second, trie.first, trie.count)
        self._device = device
        self._tables = tuple(torch.from_numpy(array.astype(np.int32)).to(device) for array in arrays)
        self._lengths = torch.tensor([len(token) for token in tokens], device=device)

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        """The ids of each text."""
        if not texts:
            return []
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
