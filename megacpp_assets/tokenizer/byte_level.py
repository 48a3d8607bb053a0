"""The byte-level alphabet of HuggingFace tokenizers: one printable character for every byte."""

from __future__ import annotations

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.contract.tokens.specials import SPACE_ID


def _alphabet() -> tuple[str, ...]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (byte for byte in range(256) if byte not in printable)
    code = {byte: byte for byte in printable} | {byte: 256 + place for place, byte in enumerate(others)}
    return tuple(chr(code[byte]) for byte in range(256))


CHARACTERS = _alphabet()
"""The character of each byte."""

_TO_CHARACTERS = dict(enumerate(CHARACTERS))
_TO_BYTES = {ord(character): byte for byte, character in enumerate(CHARACTERS)}
_ALPHABET = frozenset(CHARACTERS)


def spell(data: bytes) -> str:
    """Return `data` as a vocabulary key."""
    return data.decode("latin-1").translate(_TO_CHARACTERS)


def unspell(key: str) -> bytes:
    """Return the bytes of `key`. Every character must be in the alphabet."""
    return key.translate(_TO_BYTES).encode("latin-1")


def is_spelled(key: str) -> bool:
    """Return whether `key` consists of characters of the alphabet."""
    return _ALPHABET.issuperset(key)


def byte_lengths(tokenizer_json: bytes) -> NDArray[np.int64]:
    """Return the number of text bytes of each token id, from the file of a tokenizer; 0 for special tokens."""
    vocabulary: dict[str, int] = orjson.loads(tokenizer_json)["model"]["vocab"]
    lengths = np.zeros(max(vocabulary.values(), default=-1) + 1, dtype=np.int64)
    for key, index in vocabulary.items():
        if index >= SPACE_ID:
            # A key has one character for each byte.
            lengths[index] = len(key) if is_spelled(key) else len(key.encode())
    return lengths
