"""The longest-match model on the device gives the ids of the one on the CPU."""

from __future__ import annotations

import random

import pytest
import torch

from megacpp_assets.contract.errors import TokenizerDrift
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.gpu.trie import GpuTrieTokenizer
from megacpp_assets.tokenizer.stage import read_lock
from megacpp_assets.tokenizer.trie import Comparison, TrieTokenizer
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.gpu.test_split import HARD
from tests.tokenizer.test_trie import slow_twin, vocabulary


def test_hard_texts_and_real_code_give_the_ids_of_the_cpu(encoder: Encoder, device: torch.device) -> None:
    rng = random.Random(11)
    texts = [b"".join(rng.choice(HARD) for _ in range(rng.randint(0, 30))) for _ in range(60)]
    texts += [data[:2000] for data in list(native_sources().values())[:3]] + [b""]
    cpu = TrieTokenizer(encoder.model, Comparison())
    found = [ids.tolist() for ids in GpuTrieTokenizer(encoder.model, Comparison(), device).encode_batch(texts)]
    assert found == [cpu.encode(text).tolist() for text in texts]
    assert found == [slow_twin(vocabulary(encoder), text) for text in texts]


def test_no_texts_have_no_ids(encoder: Encoder, device: torch.device) -> None:
    assert GpuTrieTokenizer(encoder.model, Comparison(), device).encode_batch([]) == []


def test_none_is_made_for_a_corpus_whose_lock_names_bpe(
    encoder: Encoder, published: Artifact, device: torch.device
) -> None:
    with pytest.raises(TokenizerDrift, match="expected bpe; found trie_longest_match"):
        GpuTrieTokenizer(encoder.model, read_lock(published), device)
