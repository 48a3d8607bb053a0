"""A tokenizer as values, made from trained merges: a key per id, merges by rank, guards and a whitespace recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.contract.tokens.specials import BOS_ID, FIXED_IDS, SPACE_ID
from megacpp_assets.tokenizer._bpe import Encoder as NativeEncoder
from megacpp_assets.tokenizer._bpe import Splitter, alphabet_id
from megacpp_assets.tokenizer.byte_level import is_spelled, spell, unspell
from megacpp_assets.tokenizer.vocabulary.fixed import GUARD_CHARACTER, filler, fixed_vocabulary
from megacpp_assets.tokenizer.whitespace import COMMANDS, DIRECTIVES, OPERATORS, Whitespace, char_classes

FIRST_ORDINARY_ID = SPACE_ID
"""Ids below this are special tokens; decoding drops them."""


@dataclass(frozen=True, slots=True)
class Merges:
    """Merges in order, with the trainer's ids: 0-255 are the bytes in the order of the alphabet, then one id per new
    product.
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Model:
    """`keys[id]` is the vocabulary key; `merges` has rows (left id, right id, product id) in rank order."""

    keys: tuple[str, ...]
    merges: NDArray[np.uint32]
    guards: Mapping[str, int]
    whitespace: Whitespace

    def token_bytes(self) -> list[bytes]:
        """Return the bytes of each id. For special and reserved ids they are their spelling."""
        return [
            unspell(key) if index >= FIRST_ORDINARY_ID and is_spelled(key) else key.encode()
            for index, key in enumerate(self.keys)
        ]

    def reachable(self) -> list[int]:
        """Return the ids that a whole word may equal: spelled in the byte alphabet, and not cut out by a guard."""
        return [
            index
            for index, key in enumerate(self.keys)
            if index >= FIRST_ORDINARY_ID and is_spelled(key) and (GUARD_CHARACTER not in key or len(key) == 1)
        ]


def make_splitter(whitespace: Whitespace, guards: Mapping[str, int]) -> Splitter:
    """Return the native splitter of a recipe. Guards are numbered in the order of `guards`."""
    return Splitter(whitespace.flags, char_classes(), list(guards), DIRECTIVES, COMMANDS, OPERATORS)


def make_encoder(model: Model, threads: int = 1) -> NativeEncoder:
    """Return the native encoder of `model`, ready for calls with `threads`."""
    merges = np.ascontiguousarray(model.merges.T)
    return NativeEncoder(
        splitter=make_splitter(model.whitespace, model.guards),
        tokens=model.token_bytes(),
        reachable=model.reachable(),
        left=merges[0],
        right=merges[1],
        product=merges[2],
        guard_ids=list(model.guards.values()),
        bos=BOS_ID,
        first_ordinary=FIRST_ORDINARY_ID,
        threads=threads,
    )


def assemble(merges: Merges, vocabulary_size: int, whitespace: Whitespace) -> Model:
    """Return the model of trained merges. Fixed strings keep their ids, other products start at 7200, the rest is
    reserved.

    `merges` must not make more than `vocabulary_size` - 7200 products that the fixed band lacks.
    """
    fixed = fixed_vocabulary()
    keys = fixed.keys()
    ids = dict(fixed.ids)
    strings = _alphabet_strings()
    numbers = {text: number for number, text in enumerate(strings)}
    rows = np.empty((len(merges.left), 3), dtype=np.uint32)
    for rank, (left, right) in enumerate(zip(merges.left.tolist(), merges.right.tolist(), strict=True)):
        text = strings[left] + strings[right]
        if text not in ids:
            ids[text] = len(keys)
            keys.append(spell(text))
        if text not in numbers:
            numbers[text] = len(strings)
            strings.append(text)
        rows[rank] = ids[strings[left]], ids[strings[right]], ids[text]
    keys.extend(filler(index) for index in range(len(keys), vocabulary_size))
    return Model(tuple(keys), rows, fixed.guards(whitespace), whitespace)


def unused_ids(model: Model, start: int = 0) -> int:
    """Return the number of reserved ids from `start` on."""
    return sum(key == filler(index) for index, key in enumerate(model.keys) if index >= start)


def learned_ids(model: Model) -> int:
    """Return the number of ids above the fixed band that merges have filled."""
    return len(model.keys) - FIXED_IDS - sum(key.startswith("\ue000") for key in model.keys[FIXED_IDS:])


def byte_lengths(tokenizer_json: bytes) -> NDArray[np.int64]:
    """Return the number of text bytes of each token id, from the file of a tokenizer; 0 for special tokens."""
    vocabulary: dict[str, int] = orjson.loads(tokenizer_json)["model"]["vocab"]
    lengths = np.zeros(max(vocabulary.values(), default=-1) + 1, dtype=np.int64)
    for key, index in vocabulary.items():
        if index >= FIRST_ORDINARY_ID:
            # A key has one character for each byte.
            lengths[index] = len(key) if is_spelled(key) else len(key.encode())
    return lengths


def _alphabet_strings() -> list[bytes]:
    strings = [b""] * 256
    for byte in range(256):
        strings[alphabet_id(byte)] = bytes([byte])
    return strings
