"""Finds where to cut a document that exceeds its limits: at chunk boundaries, or at the best break in a chunk.

Text, chunk spans and token spans come in, cut points (character offsets) go out; between two cuts lie at most the limit
of tokens by the encoder's own count, BOS included, and of chunks; nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.tokens.encoding import TextEncoder

BREAKS: Final = ("\n\n", "\n", " ", "\t")
"""Where a chunk that is too long for one piece may be cut; the best places come first."""
BREAK_WINDOW: Final = 256
"""The number of characters before the limit that are searched for a break (docs/contracts.md)."""
SMALLEST_LIMIT: Final = 8
"""The smallest limit: BOS and any single character fit, however the encoder encodes it."""
SMALLEST_CHUNK_LIMIT: Final = 2
"""The smallest limit: the rest of a chunk that was cut, and one more chunk."""
GUESS_SLACK: Final = 64
"""By how many tokens cutting may shorten the encoding of a piece. A more distant boundary is not tried."""


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The most `tokens` (BOS included) and `chunks` of one document. Raises `SpecError` if nothing could fit."""

    tokens: int
    chunks: int

    def __post_init__(self) -> None:
        if self.tokens < SMALLEST_LIMIT:
            raise SpecError("token limit of a document", expected=f"at least {SMALLEST_LIMIT}", found=self.tokens)
        if self.chunks < SMALLEST_CHUNK_LIMIT:
            raise SpecError("chunk limit of a document", expected=f"at least {SMALLEST_CHUNK_LIMIT}", found=self.chunks)


def cut_points(
    text: str, chunks: NDArray[np.int64], token_starts: NDArray[np.int32], encoder: TextEncoder, limits: DocumentLimits
) -> list[int]:
    """Offsets 0 = p0 < p1 < … = len(text): piece `i` is text[p_i:p_i+1] and keeps to `limits`.

    `chunks` (n, 2) are half-open character spans; `token_starts` are those of the whole text's tokens without BOS, used
    to guess where a piece ends before it is counted. Greedy in order: a piece takes whole chunks, each with the gap
    that follows it, for as long as they fit; a chunk that does not fit alone is cut at the last break that does.
    """
    bounds = _boundaries(chunks, len(text))
    cuts = [0]
    while cuts[-1] < len(text):
        piece = _Piece(text, cuts[-1], encoder, limits.tokens)
        most = _chunks_reach(chunks, cuts[-1], limits.chunks, len(text))
        far = min(most, _reach(token_starts, cuts[-1], limits.tokens + GUESS_SLACK, len(text)))
        end = piece.at_boundary(bounds, far)
        if end is None:
            end = piece.at_break(min(most, _reach(token_starts, cuts[-1], limits.tokens, len(text))))
        cuts.append(end)
    return cuts


def _chunks_reach(chunks: NDArray[np.int64], begin: int, limit: int, length: int) -> int:
    """Return the start of the first chunk that exceeds the limit of chunks for a piece from `begin`.

    All chunks that contain `begin` count.
    """
    beyond = np.sort(chunks[chunks[:, 1] > begin, 0])[limit:]
    return int(min(beyond[beyond > begin], default=length))


def _boundaries(chunks: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the starts of chunks that no other chunk contains, and the end of the text, sorted."""
    order = np.argsort(chunks[:, 0], kind="stable")
    starts, ends = chunks[order, 0], chunks[order, 1]
    open_until = np.maximum.accumulate(np.concatenate([[0], ends]))[:-1]
    clean = starts[(starts >= open_until) & (starts > 0) & (starts < length)]
    return np.append(np.unique(clean), length)


def _reach(token_starts: NDArray[np.int32], begin: int, limit: int, length: int) -> int:
    """Return where `limit` tokens from `begin` end, estimated with the tokens of the whole text."""
    after = int(np.searchsorted(token_starts, begin)) + limit - 1
    return int(token_starts[after]) if after < len(token_starts) else length


class _Piece:
    """Finds the end of the piece that begins at `begin`. Only the encoder's own count of tokens decides."""

    def __init__(self, text: str, begin: int, encoder: TextEncoder, limit: int) -> None:
        self._text = text
        self._begin = begin
        self._encoder = encoder
        self._limit = limit

    def _first_beyond(self, end: int) -> int:
        """Return `end` if the piece fits, else the start of its first token beyond the limit."""
        encoded = self._encoder.encode_arrow(pa.array([self._text[self._begin : end]]))
        starts = encoded.char_starts.flatten()
        return end if len(starts) <= self._limit else self._begin + int(starts[self._limit].as_py())

    def at_boundary(self, bounds: NDArray[np.int64], reach: int) -> int | None:
        """Return the last boundary, not after `reach`, up to which the piece fits."""
        candidates = bounds[(bounds > self._begin) & (bounds <= reach)]
        return next((end for end in candidates[::-1].tolist() if self._first_beyond(end) == end), None)

    def at_break(self, reach: int) -> int:
        """Return the best last break, not after `reach`, up to which the piece fits."""
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
