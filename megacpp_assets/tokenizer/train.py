"""Training: from texts to merges. Words are counted as texts arrive, so memory holds unique words, never the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.specials import FIXED_IDS
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.model import Merges, Model, assemble, make_splitter
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

Item = TypeVar("Item")

BATCH_BYTES = 8 << 20
REFERENCE_LIMIT = 2**31 - 1
"""The largest pair count that the reference trainer can hold, which counts in 32 bits."""
RARE_COUNT = 10
"""An id that occurs fewer times than this in its corpus is seen too seldom for a model to learn it."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, the counted words that it was trained on, and facts about the merge loop.

    `frequent_merges` is the number of merges whose pair occurred `RARE_COUNT` times or more when it was merged.
    """

    model: Model
    counter: Counter
    merges: int
    frequent_merges: int
    last_count: int
    largest_count: int
    forbidden_pairs: int

    @property
    def reference_overflows(self) -> bool:
        """Return whether the reference trainer would overflow on this corpus, so that its merges may differ."""
        return self.largest_count > REFERENCE_LIMIT


def new_counter(recipe: TokenizerRecipe) -> Counter:
    """Return an empty native counter that splits as `recipe` says."""
    whitespace = whitespace_recipe(recipe.whitespace)
    return Counter(make_splitter(whitespace, fixed_vocabulary().guards(whitespace)))


def count_words(recipe: TokenizerRecipe, texts: Iterable[bytes], *, threads: int = 1) -> Counter:
    """Count the words of `texts`. Fixed strings that words can hold are cut out first; invalid bytes are left out."""
    counter = new_counter(recipe)
    for batch in batches(texts, len):
        counter.add(batch, threads)
    return counter


def train_model(counter: Counter, recipe: TokenizerRecipe, report: Callable[[int, int], None] | None = None) -> Trained:
    """Return the model of counted words, with as many merges as the vocabulary has room for. `SpecError` for an
    empty corpus.

    Merges are those of HuggingFace's BpeTrainer over the same words, except that pairs whose product is a fixed word
    are dropped: one string has one id, and a fixed word is part of no identifier. Ties go to the smallest pair of ids.
    """
    require_words(counter)
    fixed = fixed_vocabulary()
    found = counter.train(
        recipe.vocabulary_size - FIXED_IDS, known=list(fixed.ids), forbidden=fixed.words(), progress=report
    )
    merges = Merges(found["left"], found["right"], found["counts"])
    return put_together(recipe, counter, merges, int(found["largest_count"]), int(found["dropped"]))


def require_words(counter: Counter) -> None:
    """Raise `SpecError` for an empty corpus."""
    if counter.words == 0:
        raise SpecError(
            "tokenizer training text", expected="at least one word", found="none", do="check the repositories"
        )


def put_together(recipe: TokenizerRecipe, counter: Counter, merges: Merges, largest: int, dropped: int) -> Trained:
    """Return the model of `merges`, with facts about the loop that made them."""
    return Trained(
        model=assemble(merges, recipe.vocabulary_size, whitespace_recipe(recipe.whitespace)),
        counter=counter,
        merges=len(merges.counts),
        frequent_merges=int((merges.counts >= RARE_COUNT).sum()),
        last_count=int(merges.counts[-1]) if len(merges.counts) else 0,
        largest_count=largest,
        forbidden_pairs=dropped,
    )


def train(texts: Iterable[bytes], recipe: TokenizerRecipe, *, threads: int = 1) -> Trained:
    """Count and merge in one call."""
    return train_model(count_words(recipe, texts, threads=threads), recipe)


def batches(texts: Iterable[Item], size_of: Callable[[Item], int]) -> Iterator[Sequence[Item]]:
    """Yield lists of about `BATCH_BYTES` of text each."""
    batch: list[Item] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += size_of(text)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
