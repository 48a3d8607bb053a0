"""Training on the GPU gives the native trainer's merges, counts and facts, tie for tie."""

from __future__ import annotations

import random

import pytest

from megacpp_assets.compute.tokenizer_device import VARIABLE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.device import count_texts, train_counted
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.train import train
from megacpp_assets.tokenizer.webgpu.gpu import Gpu, WorkgroupOrder
from megacpp_assets.tokenizer.webgpu.training.merging import MergeOptions, _Loop, train_merges
from megacpp_assets.tokenizer.webgpu.training.state import IDS
from megacpp_assets.tokenizer.webgpu.training.train import counted_words
from tests.tokenizer.conftest import add_words, native_sources
from tests.tokenizer.test_trainer import WHITESPACE, counter_of, fuzzed

SMALL = 1024
"""Slots of the smallest table, which real words outgrow."""


def require_same(gpu: Gpu, counter: Counter, options: MergeOptions) -> None:
    expected = counter.train(options.new_tokens, known=list(options.known), forbidden=list(options.forbidden))
    found = train_merges(gpu, counted_words(counter), options)
    assert found.merges.left.tolist() == expected["left"].tolist()
    assert found.merges.right.tolist() == expected["right"].tolist()
    assert found.merges.counts.tolist() == expected["counts"].tolist()
    assert (found.largest_count, found.dropped) == (expected["largest_count"], expected["dropped"])


def fuzzed_case(gpu: Gpu, seed: int) -> None:
    """One fuzzed corpus, counted incrementally or anew for each merge, with or without flagged strings."""
    known = (b"ab", b"a ", b"ba") if seed % 2 else ()
    forbidden = (b"bb", b"aa") if seed % 3 == 0 else ()
    options = MergeOptions(4 + seed % 9, known, forbidden, recount=seed % 4 < 2, steps=1 + seed % 5, slots=SMALL)
    require_same(gpu, counter_of(text.encode() for text in fuzzed(seed)), options)


@pytest.mark.parametrize("seed", range(8))
def test_merges_of_fuzzed_corpora_are_the_native_ones(gpu: Gpu, seed: int) -> None:
    fuzzed_case(gpu, seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(8, 300))
def test_merges_of_300_fuzzed_corpora_are_the_native_ones(gpu: Gpu, seed: int) -> None:
    fuzzed_case(gpu, seed)


def test_merges_of_real_code_are_the_native_ones_and_the_table_grows(gpu: Gpu) -> None:
    code = counter_of(native_sources().values())
    require_same(gpu, code, MergeOptions(120, forbidden=[b"st"], slots=SMALL))


def test_counting_anew_for_each_merge_gives_the_same_merges(gpu: Gpu) -> None:
    require_same(gpu, counter_of(native_sources().values()), MergeOptions(20, recount=True, steps=8, slots=SMALL))


def test_runs_of_one_character_are_merged_from_the_left(gpu: Gpu) -> None:
    texts = [b"a" * 5000, b"a" * 777, b"aab" * 40, b"ab" * 501, b" ".join(b"a" * length for length in range(1, 30))]
    require_same(gpu, counter_of(texts), MergeOptions(12, steps=3, slots=SMALL))


@pytest.mark.parametrize("recount", [False, True])
def test_counts_beyond_32_bits_are_right(gpu: Gpu, recount: bool) -> None:
    counter = counter_of([b"ab", b"cd"])
    add_words(counter, {b"ab": 3_000_000_000, b"xab": 2**33, b"abx": 2**32 - 1})
    require_same(gpu, counter, MergeOptions(4, recount=recount, steps=2))


def test_ids_over_65535_are_merged_as_on_the_cpu(gpu: Gpu) -> None:
    """The first product gets id 70,000, as if as many merges had been made; the rest must follow."""
    counter = counter_of([b"abcabcabd" * 3, b"abdabcc", b"aaaaaa", b"abca"])
    expected = counter.train(70_000)
    loop = _Loop(gpu, counted_words(counter), MergeOptions(70_000, slots=SMALL))
    loop._state.write(IDS, 70_000)
    while not loop.submit():
        pass
    merges = loop.found().merges
    for ids, native in ((merges.left, expected["left"]), (merges.right, expected["right"])):
        assert ids.tolist() == [index if index < 256 else index - 256 + 70_000 for index in native.tolist()]
    assert max(merges.left.tolist()) > 65_535


def test_an_empty_corpus_has_no_merges(gpu: Gpu) -> None:
    require_same(gpu, Counter(make_splitter(WHITESPACE, {})), MergeOptions(5))


@pytest.mark.campaign
@pytest.mark.parametrize("ten", range(10))
def test_100_orders_of_workgroups_give_the_same_merges(ten: int) -> None:
    code = counter_of(native_sources().values())
    rng = random.Random(ten)
    for index in range(10):
        order = WorkgroupOrder(first=rng.randrange(1000), reverse=bool(index % 2))
        require_same(Gpu(order), code, MergeOptions(40, recount=index % 4 == 0, steps=20, slots=SMALL))


def test_the_whole_tokenizer_is_that_of_the_cpu(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = TokenizerRecipe(vocabulary_size=7230)
    expected = train(native_sources().values(), recipe)
    monkeypatch.setenv(VARIABLE, "gpu")
    found = train_counted(count_texts(native_sources().values(), recipe), recipe)
    assert dump_model(found.model) == dump_model(expected.model)
    facts = ("merges", "last_count", "largest_count", "forbidden_pairs")
    assert [getattr(found, fact) for fact in facts] == [getattr(expected, fact) for fact in facts]


def test_an_empty_corpus_is_rejected(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = TokenizerRecipe(vocabulary_size=7210)
    monkeypatch.setenv(VARIABLE, "gpu")
    with pytest.raises(SpecError, match="at least one word"):
        train_counted(count_texts([b""], recipe), recipe)
