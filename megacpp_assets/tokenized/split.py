"""Where to cut a document that exceeds the token limit: at chunk boundaries, else at the best break in a chunk.

Text, chunk spans and token spans come in, cut points (character offsets) go out; between two cuts lie at most `limit`
tokens by the encoder's own count, BOS included, and nothing is left out.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.encoding import TextEncoder
from megacpp_assets.contract.errors import SpecError

BREAKS: Final = ("\n\n", "\n", " ", "\t")
"""Where a chunk that is too long for one piece may be cut, best first."""
BREAK_WINDOW: Final = 256
"""Characters before the limit in which a break is looked for (CONTRACTS.md 2)."""
SMALLEST_LIMIT: Final = 8
"""BOS and any one character fit, whatever the encoder makes of it."""
GUESS_SLACK: Final = 64
"""Tokens by which cutting may shorten the encoding of a piece; a boundary farther out is not tried."""


def cut_points(
    text: str, chunks: NDArray[np.int64], token_starts: NDArray[np.int32], encoder: TextEncoder, limit: int
) -> list[int]:
    """Offsets 0 = p0 < p1 < … = len(text): piece `i` is text[p_i:p_i+1] and has at most `limit` tokens with BOS.

    `chunks` (n, 2) are half-open character spans; `token_starts` are those of the whole text's tokens without BOS, used
    to guess where a piece ends before it is counted. Greedy in order: a piece takes whole chunks, each with the gap
    that follows it, for as long as they fit; a chunk that does not fit alone is cut at the last break that does.
    """
    if limit < SMALLEST_LIMIT:
        raise SpecError("token limit of a document", expected=f"at least {SMALLEST_LIMIT}", found=limit)
    bounds = _boundaries(chunks, len(text))
    cuts = [0]
    while cuts[-1] < len(text):
        piece = _Piece(text, cuts[-1], encoder, limit)
        end = piece.at_boundary(bounds, _reach(token_starts, cuts[-1], limit + GUESS_SLACK, len(text)))
        cuts.append(piece.at_break(_reach(token_starts, cuts[-1], limit, len(text))) if end is None else end)
    return cuts


def _boundaries(chunks: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Chunk starts that lie inside no other chunk, and the end of the text; sorted."""
    order = np.argsort(chunks[:, 0], kind="stable")
    starts, ends = chunks[order, 0], chunks[order, 1]
    open_until = np.maximum.accumulate(np.concatenate([[0], ends]))[:-1]
    clean = starts[(starts >= open_until) & (starts > 0) & (starts < length)]
    return np.append(np.unique(clean), length)


def _reach(token_starts: NDArray[np.int32], begin: int, limit: int, length: int) -> int:
    """Where `limit` tokens from `begin` on end, judged by the whole text's tokens."""
    after = int(np.searchsorted(token_starts, begin)) + limit - 1
    return int(token_starts[after]) if after < len(token_starts) else length


class _Piece:
    """The piece that begins at `begin`, in search of its end. Only the encoder's own count decides."""

    def __init__(self, text: str, begin: int, encoder: TextEncoder, limit: int) -> None:
        self._text = text
        self._begin = begin
        self._encoder = encoder
        self._limit = limit

    def _first_beyond(self, end: int) -> int:
        """`end` if the piece fits, else where its first token over the limit starts."""
        encoded = self._encoder.encode_batch([self._text[self._begin : end]])
        if len(encoded.ids) <= self._limit:
            return end
        return self._begin + int(encoded.char_starts[self._limit])

    def at_boundary(self, bounds: NDArray[np.int64], reach: int) -> int | None:
        """The last boundary, at or before `reach`, up to which the piece fits."""
        candidates = bounds[(bounds > self._begin) & (bounds <= reach)]
        return next((end for end in candidates[::-1].tolist() if self._first_beyond(end) == end), None)

    def at_break(self, reach: int) -> int:
        """The last good break, at or before `reach`, up to which the piece fits."""
        end = reach
        while True:
            end = self._break_before(end)
            beyond = self._first_beyond(end)
            if beyond == end:
                return end
            end = beyond

    def _break_before(self, end: int) -> int:
        low = max(self._begin, end - BREAK_WINDOW)
        for mark in BREAKS:
            found = self._text.rfind(mark, low, end)
            if found >= 0 and found + len(mark) > self._begin:
                return found + len(mark)
        return end
