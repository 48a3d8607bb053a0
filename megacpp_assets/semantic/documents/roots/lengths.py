"""Estimates the tokens of a text. The corpus's tokenizer is unknown here: it is trained on other repositories too.

The estimate is the exact count of a tokenizer that is trained on the repository alone. It has a fraction of the
vocabulary, and merges only pairs that occur several times, as a tokenizer of many repositories does for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.specials import FIXED_IDS
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import Merges, Model
from megacpp_assets.tokenizer.train import count_words, put_together
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary

_SHARE = 4
"""The fraction of the merges that is assumed for one repository."""
_LEAST_COUNT = 6
"""A pair that occurs fewer times in a repository is not merged."""


class Lengths:
    """Counts tokens of texts of one repository, with a vocabulary like that of `recipe`.

    `texts` returns the texts, which are read twice: all of them at once would take a byte a character.
    """

    def __init__(self, texts: Callable[[], Iterable[bytes]], recipe: TokenizerRecipe) -> None:
        counter = count_words(recipe, texts())
        fixed, merges = fixed_vocabulary(), max(0, recipe.vocabulary_size - FIXED_IDS) // _SHARE
        found = counter.train(merges, min_count=_LEAST_COUNT, known=list(fixed.ids), forbidden=fixed.words())
        kept = Merges(found["left"], found["right"], found["counts"])
        # The ids that a larger vocabulary reserves make no token shorter, and each costs time.
        exact = replace(recipe, vocabulary_size=FIXED_IDS + len(kept.counts))
        self._encoder = Encoder(put_together(exact, counter, kept, 0, 0).model)
        tokens = characters = 0
        for text in texts():
            tokens += len(self._encoder.encode_bytes(text))
            characters += len(text.decode("utf-8", "replace"))
        self.chars_per_token = characters / tokens if tokens else 1.0
        """The average characters of a token of the texts."""

    def __getstate__(self) -> tuple[Model, float]:
        """Return what another process needs to give the same counts."""
        return self._encoder.model, self.chars_per_token

    def __setstate__(self, state: tuple[Model, float]) -> None:
        model, self.chars_per_token = state
        self._encoder = Encoder(model)

    def tokens(self, text: str) -> int:
        """Return the number of tokens of `text`, BOS included."""
        return len(self._encoder.encode_bytes(text.encode()))
