"""How much text a document may have: its tokens, and the characters that are expected to have that many tokens."""

from __future__ import annotations

from megacpp_assets.semantic.documents.roots.lengths import Lengths

CHARS_PER_TOKEN = 4.0
_FILLED_SHARE = 0.9
"""Share of the estimate that a document may fill. `tokenized_parquet` splits a document whose exact count is over."""


class Budget:
    """The most `tokens` of a document and the most characters, by `lengths` or else by `chars_per_token`."""

    def __init__(self, tokens: int, chars_per_token: float, lengths: Lengths | None) -> None:
        self.tokens = tokens
        self._lengths = lengths
        self.chars_per_token = lengths.chars_per_token if lengths else chars_per_token or CHARS_PER_TOKEN
        self.chars = int(tokens * self.chars_per_token * _FILLED_SHARE)

    def size(self, text: str) -> int:
        """Return the characters of an average text with as many tokens."""
        return int(self._lengths.tokens(text) * self.chars_per_token) if self._lengths else len(text)

    def excess(self, text: str) -> float:
        """Return the tokens of `text` divided by the tokens that may be filled; 0 if no lengths are known."""
        return self._lengths.tokens(text) / (self.tokens * _FILLED_SHARE) if self._lengths else 0.0
