"""The longest-match model on the GPU has the tokens of the CPU's, wherever chunks and slices end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from megacpp_assets.compute.tokenizer_device import VARIABLE
from megacpp_assets.contract.errors import TokenizerDrift
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.device import open_trie
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import read_lock
from megacpp_assets.tokenizer.trie import TRIE_MODEL, ComparisonPurpose, TrieTokenizer
from megacpp_assets.tokenizer.webgpu.flat_trie import flatten
from megacpp_assets.tokenizer.webgpu.gpu import Gpu, WorkgroupOrder
from megacpp_assets.tokenizer.webgpu.trie import CHUNK, GpuTrieTokenizer
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.texts import BYTES
from tests.tokenizer.webgpu.test_splitting import hard_texts


@pytest.fixture(scope="module")
def on_cpu(encoder: Encoder) -> TrieTokenizer:
    return TrieTokenizer(encoder.model, ComparisonPurpose())


@pytest.fixture(scope="module")
def on_gpu(encoder: Encoder, gpu: Gpu) -> GpuTrieTokenizer:
    return GpuTrieTokenizer(encoder.model, ComparisonPurpose(), gpu)


def long_texts() -> list[bytes]:
    """Real code, hard bytes, and runs whose tokens cross every border of a chunk."""
    return [b"".join(native_sources().values()), b"".join(hard_texts(3, 200)), b"=" * 5000, b" " * 3000, b""]


def test_tokens_of_long_texts_are_those_of_the_cpu(on_cpu: TrieTokenizer, on_gpu: GpuTrieTokenizer) -> None:
    for text in long_texts():
        found = on_gpu.encode(text)
        assert np.array_equal(found, on_cpu.encode(text)) and found.dtype == np.int32
        assert on_gpu.decode(found) == text


@settings(max_examples=20, deadline=None)
@given(text=BYTES)
def test_tokens_of_any_bytes_are_those_of_the_cpu(on_cpu: TrieTokenizer, on_gpu: GpuTrieTokenizer, text: bytes) -> None:
    assert on_gpu.encode(text).tolist() == on_cpu.encode(text).tolist()


def test_where_slices_end_does_not_show(encoder: Encoder, gpu: Gpu, on_cpu: TrieTokenizer) -> None:
    sliced = GpuTrieTokenizer(encoder.model, ComparisonPurpose(), gpu, size=CHUNK)
    for text in long_texts():
        assert np.array_equal(sliced.encode(text[:20_000]), on_cpu.encode(text[:20_000]))


def test_the_trie_is_flat_in_breadth_first_order_with_sorted_children() -> None:
    nodes, edges = flatten([(b"b", 7), (b"ab", 5), (b"aa", 6)])
    assert nodes.tolist() == [[0, 2, 0], [2, 2, 0], [4, 0, 8], [4, 0, 7], [4, 0, 6]]
    assert edges.tolist() == [[97, 1], [98, 2], [97, 3], [98, 4]]


def test_the_chosen_device_opens_the_trie(encoder: Encoder, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "gpu")
    opened = open_trie(encoder.model, ComparisonPurpose())
    assert isinstance(opened, GpuTrieTokenizer) and opened.model_name == TRIE_MODEL


def test_no_trie_is_made_for_a_corpus_whose_lock_names_bpe(encoder: Encoder, gpu: Gpu, published: Artifact) -> None:
    with pytest.raises(TokenizerDrift, match="expected bpe; found trie_longest_match"):
        GpuTrieTokenizer(encoder.model, read_lock(published), gpu)


@pytest.mark.campaign
@pytest.mark.parametrize("ten", range(10))
def test_100_orders_of_workgroups_give_the_same_tokens(encoder: Encoder, on_cpu: TrieTokenizer, ten: int) -> None:
    text = long_texts()[0] + long_texts()[1]
    expected = on_cpu.encode(text)
    for first in range(10 * ten, 10 * ten + 10):
        gpu = Gpu(WorkgroupOrder(first=first, reverse=bool(first % 2)))
        assert np.array_equal(GpuTrieTokenizer(encoder.model, ComparisonPurpose(), gpu).encode(text), expected)
