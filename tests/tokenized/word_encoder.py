"""A small exact encoder for tests: words, runs of white space, single marks; one token a byte outside ASCII."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from megacpp_assets.contract.tokens.encoding import Encoded, EncodedLists
from megacpp_assets.contract.tokens.specials import BOS_ID, FIXED_IDS

_WORDS = re.compile(r"[A-Za-z0-9_]{1,12}|\n+|[ \t]+|.", re.DOTALL)


class WordEncoder:
    """Its tokens depend on where a text is cut (runs merge), as a real encoder's do."""

    vocabulary_size = FIXED_IDS + 4096

    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> EncodedLists:
        documents = [_encode(text) for text in texts.to_pylist()]
        flat = [token for document in documents for token in document]
        ids, starts, ends = zip(*flat, strict=True) if flat else ((), (), ())
        return Encoded(
            ids=np.array(ids, dtype=np.uint32),
            char_starts=np.array(starts, dtype=np.int32),
            char_ends=np.array(ends, dtype=np.int32),
            offsets=np.cumsum([0, *map(len, documents)], dtype=np.int64),
        ).lists()


def _encode(text: str) -> list[tuple[int, int, int]]:
    tokens = [(BOS_ID, 0, 0)]
    for match in _WORDS.finditer(text):
        word = match.group()
        units = word.encode() if ord(word[0]) > 127 else [sum(word.encode()) % 4096]
        tokens += [(FIXED_IDS + unit, match.start(), match.end()) for unit in units]
    return tokens


def token_count(text: str) -> int:
    """Tokens of `text`, BOS included."""
    return len(_encode(text))
