"""The byte-level alphabet of HuggingFace tokenizers: one printable character for every byte."""

from __future__ import annotations


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
