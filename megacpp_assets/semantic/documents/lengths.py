"""How many tokens a text will have, by estimate: the corpus's tokenizer is trained on other repositories too.

The estimate is exact for a tokenizer that the repository's own words train, with a part of the vocabulary and of pairs
that come several times alone: what a tokenizer of many repositories has left for one of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.specials import FIXED_IDS
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import Merges
from megacpp_assets.tokenizer.train import count_words, put_together
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary

_SHARE = 4
"""One part in so many of the merges is for one repository."""
_LEAST_COUNT = 6
"""A pair that comes less often in a repository is not merged."""


class Lengths:
    """Lengths of texts of one repository, in tokens of a vocabulary like that of `recipe`."""

    def __init__(self, texts: Iterable[bytes], recipe: TokenizerRecipe) -> None:
        known = list(texts)
        counter = count_words(recipe, known)
        fixed, merges = fixed_vocabulary(), max(0, recipe.vocabulary_size - FIXED_IDS) // _SHARE
        found = counter.train(merges, min_count=_LEAST_COUNT, known=list(fixed.ids), forbidden=fixed.words())
        kept = Merges(found["left"], found["right"], found["counts"])
        self._encoder = Encoder(put_together(recipe, counter, kept, 0, 0).model)
        tokens = sum(len(self._encoder.encode_bytes(text)) for text in known)
        characters = sum(len(text.decode("utf-8", "replace")) for text in known)
        self.chars_per_token = characters / tokens if tokens else 1.0
        """Characters of the texts for each of their tokens."""

    def tokens(self, text: str) -> int:
        """The tokens of `text`, BOS included."""
        return len(self._encoder.encode_bytes(text.encode()))
