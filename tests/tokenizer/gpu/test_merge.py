"""Training on the device gives the native trainer's words, merges, counts and facts, bit for bit."""

from __future__ import annotations

import pytest
import torch

from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.gpu.count import count_words
from megacpp_assets.tokenizer.gpu.merge import MergeOptions, train_merges
from megacpp_assets.tokenizer.gpu.split import Splitter
from megacpp_assets.tokenizer.gpu.words import Words, distinct
from megacpp_assets.tokenizer.model import make_splitter
from tests.tokenizer.conftest import add_words, native_sources, words_in
from tests.tokenizer.gpu.test_split import WHITESPACE
from tests.tokenizer.test_trainer import fuzzed


def counted(texts: list[bytes], device: torch.device, slice_bytes: int) -> tuple[Counter, Words]:
    native = Counter(make_splitter(WHITESPACE, {}))
    native.add(texts)
    return native, count_words(texts, Splitter(WHITESPACE, {}, device), device, slice_bytes)


def as_dict(words: Words) -> dict[bytes, int]:
    rows = zip(words.starts.tolist(), words.lengths.tolist(), words.counts.tolist(), strict=True)
    return {bytes(words.cells[start : start + length].tolist()): count for start, length, count in rows}


def require_same(native: Counter, words: Words, options: MergeOptions) -> None:
    expected = native.train(options.new_tokens, known=options.known, forbidden=options.forbidden)
    found = train_merges(words, options)
    assert found.merges.left.tolist() == expected["left"].tolist()
    assert found.merges.right.tolist() == expected["right"].tolist()
    assert found.merges.counts.tolist() == expected["counts"].tolist()
    assert (found.largest_count, found.dropped) == (expected["largest_count"], expected["dropped"])


@pytest.mark.parametrize("seed", range(16))
def test_merges_of_fuzzed_corpora_are_the_native_ones(seed: int, device: torch.device) -> None:
    texts = [text.encode() for text in fuzzed(seed)]
    native, words = counted(texts, device, slice_bytes=50)
    assert as_dict(words) == words_in(native)
    known = [b"ab", b"a ", b"ba"] if seed % 2 else []
    forbidden = [b"bb", b"aa"] if seed % 3 == 0 else []
    require_same(native, words, MergeOptions(4 + seed % 9, known, forbidden, steps=4))


def test_merges_of_real_code_are_the_native_ones_however_it_is_sliced(device: torch.device) -> None:
    texts = [data[:6000] for data in list(native_sources().values())[:4]]
    native, words = counted(texts, device, slice_bytes=7000)
    assert as_dict(words) == words_in(native)
    require_same(native, words, MergeOptions(24, forbidden=[b"st"], steps=8))


def test_counts_beyond_32_bits_are_right(device: torch.device) -> None:
    native, words = counted([b"ab", b"cd"], device, slice_bytes=10)
    add_words(native, {b"ab": 3_000_000_000})
    words.counts[list(as_dict(words)).index(b"ab")] += 3_000_000_000
    require_same(native, words, MergeOptions(2, steps=2))


def test_words_that_are_equal_are_one_with_their_counts_added(device: torch.device) -> None:
    cells = torch.tensor(list(b"abcabcab"), dtype=torch.int16)
    starts, lengths = torch.tensor([0, 3, 6, 1]), torch.tensor([3, 3, 2, 2])
    found, group = distinct(Words(cells, starts, lengths, torch.tensor([1, 10, 100, 1000])))
    assert as_dict(found) == {b"abc": 11, b"ab": 100, b"bc": 1000}
    assert group[0] == group[1] and len(set(group.tolist())) == 3


def test_an_empty_corpus_has_no_merges(device: torch.device) -> None:
    _, words = counted([b"", b"\xff"], device, slice_bytes=10)
    assert len(train_merges(words, MergeOptions(5, steps=2)).merges.left) == 0
