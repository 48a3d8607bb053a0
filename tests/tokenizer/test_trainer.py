"""Merges are those of HuggingFace's BpeTrainer: ids, order, ties. Forbidden and known products follow a slow twin."""

from __future__ import annotations

import json
import random
from collections import Counter as Tally
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.tokenizer._bpe import Counter, alphabet_id
from megacpp_assets.tokenizer.byte_level import spell
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.train import REFERENCE_LIMIT, Trained, train, train_model
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.whitespace import whitespace_recipe
from tests.tokenizer.conftest import RECIPE, add_words, native_sources, words_in

WHITESPACE = whitespace_recipe("operators_carry_spaces")


def counter_of(texts: Iterable[bytes], threads: int = 1) -> Counter:
    counter = Counter(make_splitter(WHITESPACE, {}))
    counter.add(list(texts), threads)
    return counter


def named(found: dict) -> list[tuple[str, str]]:
    """Our merges, as pairs of byte-level strings."""
    strings = [""] * 256
    for byte in range(256):
        strings[alphabet_id(byte)] = spell(bytes([byte]))
    merges = []
    for left, right, product in zip(found["left"], found["right"], found["product"], strict=True):
        merges.append((strings[left], strings[right]))
        if product == len(strings):
            strings.append(strings[left] + strings[right])
    return merges


def reference(texts: list[str], vocabulary: int) -> list[tuple[str, str]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WHITESPACE.pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]


def slow_twin(words: dict[bytes, int], new: int, known: set[bytes], forbidden: set[bytes]) -> list[tuple[bytes, bytes]]:
    """Recount all pairs for every merge; ties by the smallest pair of ids, ids in order of appearance."""
    ids = {bytes([byte]): alphabet_id(byte) for byte in range(256)}
    split = {word: [bytes([byte]) for byte in word] for word in words}
    merges: list[tuple[bytes, bytes]] = []
    made = 0
    while made < new:
        pairs: Tally[tuple[bytes, bytes]] = Tally()
        for word, parts in split.items():
            for pair in pairwise(parts):
                pairs[pair] += words[word]
        allowed = [pair for pair in pairs if pair[0] + pair[1] not in forbidden]
        if not allowed:
            break
        best = min(allowed, key=lambda pair: (-pairs[pair], ids[pair[0]], ids[pair[1]]))
        text = best[0] + best[1]
        made += text not in known and text not in ids
        ids.setdefault(text, len(ids))
        merges.append(best)
        for parts in split.values():
            place = 0
            while place + 1 < len(parts):
                if (parts[place], parts[place + 1]) == best:
                    parts[place : place + 2] = [text]
                place += 1
    return merges


def fuzzed(seed: int) -> list[str]:
    """A small corpus with many ties: few letters, runs, punctuation, wide characters."""
    rng = random.Random(seed)
    letters = rng.choice(["ab", "aab ", "abc_", "ab(); \n", "aé中 ", "=*/ \n\t", "01a.", "aaaaab"])
    return ["".join(rng.choice(letters) for _ in range(rng.randint(0, 60))) for _ in range(rng.randint(1, 8))]


@pytest.mark.parametrize("block", range(8))
def test_merges_of_fuzzed_corpora_are_those_of_the_reference(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        texts = fuzzed(seed)
        vocabulary = 256 + seed % 60
        found = counter_of(text.encode() for text in texts).train(vocabulary - 256)
        assert named(found) == reference(texts, vocabulary), seed


def test_merges_of_real_code_are_those_of_the_reference() -> None:
    texts = [source.decode() for source in native_sources().values()]
    found = counter_of(text.encode() for text in texts).train(1500)
    assert named(found) == reference(texts, 256 + 1500)


@settings(max_examples=60, deadline=None)
@given(
    words=st.dictionaries(st.text("abc", min_size=1, max_size=9).map(str.encode), st.integers(1, 4), max_size=8),
    known=st.sets(st.text("abc", min_size=2, max_size=4).map(str.encode), max_size=4),
    forbidden=st.sets(st.text("abc", min_size=2, max_size=3).map(str.encode), max_size=4),
)
def test_known_and_forbidden_products_follow_the_slow_twin(
    words: dict[bytes, int], known: set[bytes], forbidden: set[bytes]
) -> None:
    counter = counter_of([])
    add_words(counter, words)
    found = counter.train(6, known=sorted(known), forbidden=sorted(forbidden))
    expected = [(spell(left), spell(right)) for left, right in slow_twin(words, 6, known, forbidden)]
    assert named(found) == expected


def test_counts_and_merges_do_not_depend_on_threads() -> None:
    texts = list(native_sources().values())
    one, three = counter_of(texts, 1), counter_of(texts, 3)
    assert words_in(one) == words_in(three)
    assert one.train(400)["counts"].tolist() == three.train(400)["counts"].tolist()
    assert named(one.train(400)) == named(three.train(400))


def test_counts_beyond_32_bits_are_right_and_reported() -> None:
    counter = counter_of([])
    add_words(counter, {b"ab": 3_000_000_000, b"cd": 2_000_000_000})
    found = counter.train(2)
    assert found["counts"].tolist() == [3_000_000_000, 2_000_000_000]
    assert found["largest_count"] > REFERENCE_LIMIT


def test_training_says_that_the_reference_would_not_overflow(trained: Trained) -> None:
    assert not trained.reference_overflows
    assert trained.largest_count > 100


OFTEN = {"zqxv": 7, "zqkj": 5, "qxkj": 4, "vvvvv": 3, "kjzq": 1}
"""Words that hold no fixed string, and how often each occurs."""


@pytest.mark.parametrize(("times", "overflows"), [(165_191_049, False), (165_191_050, True), (2**40, True)])
def test_counts_beyond_31_bits_give_the_merges_of_small_ones_and_are_reported(times: int, overflows: bool) -> None:
    counter = Counter(make_splitter(WHITESPACE, fixed_vocabulary().guards(WHITESPACE)))
    add_words(counter, {word.encode(): count * times for word, count in OFTEN.items()})
    found = train_model(counter, RECIPE)
    keys = found.model.keys
    texts = ["\n".join([word] * count) for word, count in OFTEN.items()]
    assert [(keys[left], keys[right]) for left, right, _ in found.model.merges.tolist()] == reference(texts, 300)
    assert found.reference_overflows == overflows
    assert found.largest_count == 13 * times and counter.words == sum(OFTEN.values()) * times


def test_no_learned_token_is_a_fixed_word_and_none_doubles_a_string(trained: Trained) -> None:
    learned = trained.model.keys[7200:]
    assert not {spell(word) for word in fixed_vocabulary().words()} & set(learned)
    assert len(set(trained.model.keys)) == RECIPE.vocabulary_size == len(trained.model.keys)
    assert trained.forbidden_pairs > 0


def test_a_corpus_too_small_for_the_vocabulary_leaves_reserved_ids() -> None:
    model = train([b"ab ab"], TokenizerRecipe(vocabulary_size=7300)).model
    assert model.keys[7200] == "ab"
    assert all(key.startswith("\ue000") for key in model.keys[7201:])


def test_an_empty_corpus_is_rejected() -> None:
    with pytest.raises(SpecError, match="at least one word"):
        train([b"", b""], RECIPE)


def test_a_vocabulary_smaller_than_the_fixed_part_is_rejected() -> None:
    with pytest.raises(SpecError, match="at least 7200"):
        TokenizerRecipe(vocabulary_size=7199)


def test_a_word_of_a_million_letters_trains_and_ends() -> None:
    found = counter_of([b"ab" * 500_000]).train(20)
    assert named(found)[0] == ("a", "b")
    assert len(found["left"]) == 20
