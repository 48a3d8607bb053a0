"""The exact splitter on the device: texts in, the same pieces as those of the native splitter out.

For every place it computes where a word that begins there would end, from the ends of runs and a few neighbours. The
words are then the chain of these jumps from place 0. It implements the recipe `operators_carry_spaces`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.webgpu.flat_trie import flatten
from megacpp_assets.tokenizer.webgpu.gpu import LANES, Dispatch, Gpu
from megacpp_assets.tokenizer.webgpu.pool import Pool
from megacpp_assets.tokenizer.webgpu.scan import scan_calls
from megacpp_assets.tokenizer.webgpu.tables import class_table, name_table, packed
from megacpp_assets.tokenizer.whitespace import Whitespace

RECIPE = "operators_carry_spaces"
_NAME_LOOK = 40
"""A name of the fixed sets (at most 32 bytes), the character after it (4), and an incomplete character (3)."""
_RUN_KINDS = 6
_CHUNK = 1024
PIECE_WORDS = 4
"""First place, place after the last, kind, value; see shaders/common/pieces.wgsl."""


@dataclass(frozen=True, slots=True)
class Split:
    """A slice of texts on the device. `data` has one byte before each text, at `text_places`.

    Buffers: `pieces` with `count` rows, `cells`, `bytes`, `sizes` (places, pieces, longest guard, texts) and `places`.
    """

    data: NDArray[np.uint8]
    text_places: NDArray[np.uint32]
    count: int
    pieces: Any
    cells: Any
    bytes: Any
    sizes: Any
    places: Any


class Splitter:
    """The splitter of `whitespace` and `guards`. Raises `SpecError` for another recipe.

    Bytes that are `look` or more after the end of a piece and of the next piece do not change where the piece ends.
    """

    def __init__(self, gpu: Gpu, pool: Pool, whitespace: Whitespace, guards: Mapping[str, int]) -> None:
        if whitespace.name != RECIPE:
            raise SpecError(
                f"whitespace recipe {whitespace.name}", expected=RECIPE, found=whitespace.name, do="train it on the CPU"
            )
        self._gpu, self._pool = gpu, pool
        self.native = make_splitter(whitespace, guards)
        self._longest = max(map(len, guards), default=0)
        self.look = self._longest + _NAME_LOOK
        nodes, edges = flatten((guard.encode(), index) for guard, index in guards.items())
        self._nodes, self._edges = gpu.upload(nodes), gpu.upload(edges)
        self._classes, self._names = gpu.upload(class_table()), gpu.upload(name_table())
        self._kinds = [gpu.upload(np.array([first], dtype=np.uint32)) for first in (0, 3)]

    def split(self, texts: Sequence[bytes], byte_ids: Sequence[int] = (0,) * 256) -> Split:
        """Return all pieces of `texts`. A byte outside of valid UTF-8 gets its id in `byte_ids`, a guard its own id."""
        gpu, pool = self._gpu, self._pool
        lengths = np.array([len(text) + 1 for text in texts])
        places = np.cumsum(lengths) - lengths
        data = np.frombuffer(b"\0" + b"\0".join(texts), dtype=np.uint8)
        size = len(data)
        sizes = pool.numbers("sizes", size, 0, self._longest, len(texts))
        content, cells = pool.filled("bytes", packed(data)), pool.take("cells", size)
        jumps, visited = pool.take("jumps", size), pool.take("visited", size)
        matches, ranks = pool.take("matches", 2 * size), pool.take("ranks", size + 1)
        marks = np.zeros(size, dtype=bool)
        marks[places] = True
        text_marks = pool.filled("text_marks", packed(np.packbits(marks, bitorder="little")))
        gpu.run(
            [
                gpu.call("text_classify", [content, text_marks, self._classes, cells, sizes], size),
                gpu.call("guard_match", [cells, sizes, self._nodes, self._edges, matches, jumps], size),
                *self._chain_calls(jumps, visited, sizes, size),
                gpu.call("guard_mask", [cells, sizes, matches, visited], size),
                *self._word_calls(cells, sizes, jumps, size),
                *self._chain_calls(jumps, visited, sizes, size),
                gpu.call("piece_flags", [cells, sizes, visited, ranks], size),
                *scan_calls(gpu, ranks, pool.take("sums", -(-(size + 1) // LANES)), sizes, size),
            ]
        )
        count = int(gpu.read(sizes, 1, at=1)[0])
        pieces = pool.take("pieces", PIECE_WORDS * count)
        constants = pool.numbers("constants", BOS_ID, *byte_ids)
        gpu.run(
            [gpu.call("piece_list", [cells, sizes, visited, ranks, jumps, matches, content, constants, pieces], size)]
        )
        text_places = places.astype(np.uint32)
        return Split(data, text_places, count, pieces, cells, content, sizes, pool.filled("text_places", text_places))

    def _chain_calls(self, jumps: Any, visited: Any, sizes: Any, size: int) -> list[Dispatch]:
        """Return calls that mark the places that the chain of jumps from place 0 visits."""
        gpu, chunks = self._gpu, -(-size // _CHUNK)
        exits, entries = self._pool.take("exits", size), self._pool.take("entries", chunks)
        return [
            gpu.call("chain_chunks", [jumps, exits, sizes], LANES * chunks),
            gpu.call("chain_walk", [exits, entries, sizes], 1),
            gpu.call("chain_mark", [jumps, entries, visited, sizes], LANES * chunks),
        ]

    def _word_calls(self, cells: Any, sizes: Any, jumps: Any, size: int) -> list[Dispatch]:
        """Return calls that compute where a word that begins at each place would end."""
        gpu, words = self._gpu, -(-size // 32)
        masks = self._pool.take("masks", _RUN_KINDS * words)
        carries = self._pool.take("carries", _RUN_KINDS * (-(-size // LANES) + 1))
        blanks_words_numbers, lines_operators = self._kinds
        return [
            gpu.call("run_masks", [cells, sizes, masks], words),
            gpu.call("run_carries", [masks, carries, sizes, blanks_words_numbers], 3 * LANES),
            gpu.call("line_masks", [cells, sizes, masks, carries], words),
            gpu.call("run_carries", [masks, carries, sizes, lines_operators], 2 * LANES),
            gpu.call("word_ends", [cells, sizes, masks, carries, self._names, jumps], size),
        ]
