"""The longest-match model: the longest token at every place, however chunks end; never a corpus's BPE."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError, TokenizerDrift
from megacpp_assets.contract.tokens.specials import SPACE_ID
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import FORGERY, TokenizerLock, read_lock
from megacpp_assets.tokenizer.trie import ComparisonPurpose, TrieTokenizer, build_trie, longest_tokens
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.texts import BYTES

SINGLES = [(bytes([byte]), byte) for byte in range(256)]


def slow_twin(ids: dict[bytes, int], text: bytes) -> list[int]:
    found, at, longest = [], 0, max(map(len, ids))
    while at < len(text):
        size = next(size for size in range(longest, 0, -1) if text[at : at + size] in ids)
        found.append(ids[text[at : at + size]])
        at += size
    return found


@pytest.fixture(scope="module")
def trie(encoder: Encoder) -> TrieTokenizer:
    return TrieTokenizer(encoder.model, ComparisonPurpose())


def vocabulary(encoder: Encoder) -> dict[bytes, int]:
    """Every string of the fixed band's data files (guards among them, special tokens not), and what merges make."""
    ids = dict(fixed_vocabulary().ids)
    strings = {index: text for text, index in ids.items()}
    for left, right, product in encoder.model.merges.tolist():
        strings[product] = strings[left] + strings[right]
        ids[strings[product]] = product
    return ids


def test_every_token_that_bpe_gives_is_found_where_it_is_alone(encoder: Encoder, trie: TrieTokenizer) -> None:
    ids = {index for text in native_sources().values() for index in encoder.encode_bytes(text)[1:].tolist()}
    ids |= set(encoder.model.guards.values())
    texts = {index: encoder.decode([index]) for index in sorted(ids)}
    assert {index: trie.encode(text).tolist() for index, text in texts.items()} == {index: [index] for index in texts}


def test_operators_that_bpe_cuts_out_first_are_tokens_here_too(encoder: Encoder, trie: TrieTokenizer) -> None:
    found = [trie.decode(np.array([index])) for index in trie.encode(b"p->x >> 2 >= y").tolist()]
    assert found == [b"p", b"->", b"x", b" >> ", b"2", b" >= ", b"y"]


def test_text_that_spells_the_special_tokens_never_becomes_one(trie: TrieTokenizer) -> None:
    assert min(trie.encode(FORGERY.encode())) >= SPACE_ID
    assert trie.decode(trie.encode(FORGERY.encode())) == FORGERY.encode()


@settings(max_examples=50, deadline=None)
@given(text=BYTES)
def test_any_bytes_give_the_longest_token_at_each_place(encoder: Encoder, trie: TrieTokenizer, text: bytes) -> None:
    assert trie.encode(text).tolist() == slow_twin(vocabulary(encoder), text)
    assert trie.decode(trie.encode(text)) == text


@settings(max_examples=30, deadline=None)
@given(text=st.binary(max_size=200), chunk=st.integers(1, 60))
def test_where_chunks_end_does_not_show(encoder: Encoder, trie: TrieTokenizer, text: bytes, chunk: int) -> None:
    small = TrieTokenizer(encoder.model, ComparisonPurpose(), chunk_bytes=chunk)
    assert small.encode(text).tolist() == trie.encode(text).tolist()


def test_real_code_is_encoded_greedily(encoder: Encoder, trie: TrieTokenizer) -> None:
    ids = vocabulary(encoder)
    for text in list(native_sources().values())[:3]:
        assert trie.encode(text).tolist() == slow_twin(ids, text)


def test_the_trie_is_flat_and_in_breadth_first_order() -> None:
    trie = build_trie([*SINGLES, (b"ab", 300), (b"abc", 301), (b"abd", 302)])
    assert trie.first[0] == 0 and trie.count[0] == 256
    edges = [trie.edge_bytes[trie.first[n] : trie.first[n] + trie.count[n]] for n in range(len(trie.first))]
    assert all(np.all(np.diff(found.astype(int)) > 0) for found in edges)
    assert longest_tokens(trie, np.frombuffer(b"abdab", dtype=np.uint8)).tolist() == [
        302,
        ord("b"),
        ord("d"),
        300,
        ord("b"),
    ]


def test_a_vocabulary_without_a_byte_is_rejected() -> None:
    with pytest.raises(SpecError, match="every byte"):
        build_trie(SINGLES[1:])


def test_no_trie_is_made_for_a_corpus_whose_lock_names_bpe(encoder: Encoder, published: Artifact) -> None:
    with pytest.raises(TokenizerDrift, match="expected bpe; found trie_longest_match"):
        TrieTokenizer(encoder.model, read_lock(published))


def test_one_is_made_for_a_corpus_whose_lock_names_it(
    encoder: Encoder, trie: TrieTokenizer, published: Artifact
) -> None:
    lock = replace(read_lock(published), model="trie_longest_match")
    assert TrieTokenizer(encoder.model, lock).decode(TrieTokenizer(encoder.model, lock).encode(b"a->b")) == b"a->b"


def test_a_lock_that_names_another_model_is_rejected_by_the_encoder(encoder: Encoder, published: Artifact) -> None:
    raw = json.loads(read_lock(published).to_bytes())
    assert raw["model"] == "bpe"
    lock = TokenizerLock.from_bytes(read_lock(published).to_bytes().replace(b'"bpe"', b'"trie_longest_match"'))
    with pytest.raises(TokenizerDrift, match="model"):
        lock.check_meaning(encoder.vocabulary_size, lambda text: encoder.encode_batch([text]).ids.tolist())
