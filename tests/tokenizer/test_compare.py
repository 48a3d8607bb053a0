"""HuggingFace's encoder agrees with ours on every id; the trie model is measured by how far it does not."""

from __future__ import annotations

from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.report.compare import Agreement, with_huggingface, with_trie
from tests.tokenizer.conftest import native_sources


def test_huggingface_agrees_on_every_text_that_is_one(published: Artifact) -> None:
    texts = [*native_sources().values(), "na\u00efve <BOS> -> x".encode(), b"\xff no text"]
    found = with_huggingface(published.directory, texts)
    assert (found.documents, found.undecodable) == (len(texts) - 1, 1)
    assert (found.differing, found.lost) == (0, 0)
    assert found.others == found.tokens > 1000


def test_the_trie_model_gives_other_tokens_and_the_loss_is_counted(encoder: Encoder) -> None:
    found = with_trie(encoder, native_sources().values())
    assert 0 < found.differing <= found.documents
    assert 0 < found.lost < found.tokens


def test_a_text_of_one_token_loses_none(encoder: Encoder) -> None:
    assert with_trie(encoder, [b"return"]) == Agreement(1, 0, 1, 0, 1, 0)
