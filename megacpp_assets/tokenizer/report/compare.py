"""Compares our encoder with others over the same texts. HuggingFace's must agree on every id; the trie model does
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE
from megacpp_assets.tokenizer.device import open_trie
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.trie import ComparisonPurpose


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result of a comparison.

    It counts the texts, those with other ids, and our tokens. `lost` of our tokens are not tokens of the other encoder
    (the same bytes at the same place), which made `others` tokens. `undecodable` texts are not UTF-8 and cannot be
    compared.
    """

    documents: int
    differing: int
    tokens: int
    lost: int
    others: int
    undecodable: int


def with_huggingface(directory: Path, texts: Iterable[bytes]) -> Agreement:
    """Compare with HuggingFace `tokenizers`, which loads the tokenizer in `directory`."""
    encoder = Encoder.load(directory)
    reference = tokenizers.Tokenizer.from_file(str(directory / TOKENIZER_FILE))
    widths = _widths(encoder)

    def theirs(text: bytes) -> Spans:
        return _spans(np.array(reference.encode(text.decode()).ids[1:], dtype=np.int64), widths)

    return _agreement(encoder, texts, theirs)


def with_trie(encoder: Encoder, texts: Iterable[bytes]) -> Agreement:
    """Compare with the longest-match model over the same vocabulary."""
    trie = open_trie(encoder.model, ComparisonPurpose())
    widths = _widths(encoder)
    return _agreement(encoder, texts, lambda text: _spans(trie.encode(text), widths))


Spans = NDArray[np.int64]
"""(n, 2): the end of each token in bytes and its id, in order. A token starts where the one before ends."""


def _spans(ids: NDArray[np.integer], widths: NDArray[np.int64]) -> Spans:
    return np.stack([np.cumsum(widths[ids]), ids.astype(np.int64)], axis=1)


def _agreement(encoder: Encoder, texts: Iterable[bytes], other: Callable[[bytes], Spans]) -> Agreement:
    widths = _widths(encoder)
    documents = differing = tokens = lost = others = undecodable = 0
    for text in texts:
        if not _is_utf8(text):
            undecodable += 1
            continue
        ours, theirs = _spans(encoder.encode_bytes(text)[1:], widths), other(text)
        documents += 1
        differing += not np.array_equal(ours, theirs)
        tokens += len(ours)
        others += len(theirs)
        lost += len(ours) - len(np.intersect1d(_keys(ours), _keys(theirs), assume_unique=True))
    return Agreement(documents, differing, tokens, lost, others, undecodable)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _widths(encoder: Encoder) -> NDArray[np.int64]:
    """Return the bytes of each id."""
    return np.array([len(token) for token in encoder.model.token_bytes()])


def _keys(spans: Spans) -> NDArray[np.int64]:
    """Return one number for the start and the end of each token."""
    ends = spans[:, 0]
    return np.concatenate([np.zeros(1, np.int64), ends[:-1]]) << 32 | ends
