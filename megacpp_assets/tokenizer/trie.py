"""The greedy longest-match tokenizer: at each place it takes the longest token that fits. It is not the BPE model.

With one vocabulary of 131,072 ids it gave other ids than BPE for 6,510 of 6,539 real files, and 5.7 % of BPE's
tokens were not among its tokens (`megacpp tokenizer trie` measures a corpus). So it never encodes a corpus whose lock
names the BPE model. It does not use words or merges. It encodes any bytes, and decoding returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError, TokenizerDrift
from megacpp_assets.tokenizer.lock import TokenizerLock
from megacpp_assets.tokenizer.model import Model

TRIE_MODEL = "trie_longest_match"
NO_TOKEN = -1
NO_CHILD = -1
CHUNK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Trie:
    """A flat trie in breadth-first order.

    Node 0 is the root, and the children of a node are consecutive, sorted by byte.

    The edges of node n are `first[n] : first[n] + count[n]` of `edge_bytes` (uint8) and `children` (int32); `ids[n]` is
    its token, or NO_TOKEN. `root` and `second` are tables of the first two steps: `root[b]` is the node of
    byte b, `second[b * 256 + c]` that of b, c, or NO_CHILD. `longest` is the maximum number of bytes of a token.
    """

    first: NDArray[np.int32]
    count: NDArray[np.int32]
    ids: NDArray[np.int32]
    edge_bytes: NDArray[np.uint8]
    children: NDArray[np.int32]
    root: NDArray[np.int32]
    second: NDArray[np.int32]
    longest: int


def build_trie(tokens: Sequence[tuple[bytes, int]]) -> Trie:
    """Return the trie of (bytes, id) pairs.

    `SpecError` unless every single byte is a token and no string has two ids.
    """
    ids = dict(tokens)
    missing = [byte for byte in range(256) if bytes([byte]) not in ids]
    if missing or len(ids) != len(tokens):
        raise SpecError("trie vocabulary", expected="every byte and each string once", found=f"{missing[:3]} missing")
    prefixes = sorted({text[:end] for text in ids for end in range(len(text) + 1)}, key=lambda text: (len(text), text))
    numbers = {text: number for number, text in enumerate(prefixes)}
    parents = np.array([numbers[text[:-1]] for text in prefixes[1:]], dtype=np.int64)
    count = np.bincount(parents, minlength=len(prefixes))
    first = np.cumsum(count) - count
    edge_bytes = np.array([text[-1] for text in prefixes[1:]], dtype=np.uint8)
    children = np.arange(1, len(prefixes), dtype=np.int32)
    root = np.full(256, NO_CHILD, dtype=np.int32)
    root[edge_bytes[: count[0]]] = children[: count[0]]
    second = np.full(65536, NO_CHILD, dtype=np.int32)
    deep = [(numbers[text], text) for text in prefixes if len(text) == 2]
    second[[text[0] * 256 + text[1] for _, text in deep]] = [number for number, _ in deep]
    return Trie(
        first.astype(np.int32),
        count.astype(np.int32),
        np.array([ids.get(text, NO_TOKEN) for text in prefixes], dtype=np.int32),
        edge_bytes,
        children,
        root,
        second,
        max(map(len, ids)),
    )


@dataclass(frozen=True, slots=True)
class ComparisonPurpose:
    """The purpose of a trie that is only compared with BPE. It replaces a corpus's lock, and no corpus is encoded."""


Purpose = TokenizerLock | ComparisonPurpose


def trie_tokens(model: Model, purpose: Purpose) -> list[tuple[bytes, int]]:
    """Return (bytes, id) of every token that BPE can give: the tokens of words, and the guards.

    `reachable` leaves guards out, because they are cut out before words are made; the trie treats them like all other
    strings. Special tokens are left out, so text that spells one cannot become it. `TokenizerDrift` if `purpose` is the
    lock of a corpus that another model encodes.
    """
    if isinstance(purpose, TokenizerLock) and purpose.model != TRIE_MODEL:
        raise TokenizerDrift("model of the corpus", expected=purpose.model, found=TRIE_MODEL, do="encode with BPE")
    tokens = model.token_bytes()
    ids = {*model.reachable(), *model.guards.values()}
    return [(tokens[index], index) for index in sorted(ids)]


class LongestMatch(Protocol):
    """An encoder of the longest-match model, on a CPU or a GPU."""

    model_name: str

    def encode(self, text: bytes) -> NDArray[np.int32]:
        """Return the ids of `text`."""
        ...

    def decode(self, ids: NDArray[np.int32]) -> bytes:
        """Return the bytes that were encoded."""
        ...


class TrieTokenizer:
    """Longest match over the tokens that BPE can give, on the CPU.

    It is made for a comparison, or for the lock of a corpus that names the model `trie_longest_match`, never `bpe`.
    """

    model_name = TRIE_MODEL

    def __init__(self, model: Model, purpose: Purpose, *, chunk_bytes: int = CHUNK_BYTES) -> None:
        tokens = model.token_bytes()
        self.trie = build_trie(trie_tokens(model, purpose))
        self._lengths = np.array([len(token) for token in tokens], dtype=np.int64)
        self._tokens = tokens
        self._chunk = chunk_bytes

    def encode(self, text: bytes) -> NDArray[np.int32]:
        """Return the ids of `text`.

        The text is processed in chunks, each with enough bytes of the next one for a whole token. So chunk borders do
        not change the ids.
        """
        found: list[NDArray[np.int32]] = []
        at = 0
        while at < len(text):
            piece = np.frombuffer(
                text, dtype=np.uint8, count=min(len(text) - at, self._chunk + self.trie.longest), offset=at
            )
            ids = longest_tokens(self.trie, piece)
            starts = chain(self._lengths[ids], min(self._chunk, len(text) - at))
            found.append(ids[starts])
            at += int(starts[-1] + self._lengths[ids[starts[-1]]])
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int32)

    def decode(self, ids: NDArray[np.int32]) -> bytes:
        """Return the bytes that were encoded."""
        return b"".join(self._tokens[index] for index in ids.tolist())


def longest_tokens(trie: Trie, text: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the id of the longest token that begins at each place of `text`.

    All places step through the trie together.
    """
    at = np.arange(len(text))
    node = trie.root[text]
    best = trie.ids[node]
    pairs = text[:-1].astype(np.int64) * 256 + text[1:]
    place, node = at[:-1], trie.second[pairs]
    depth = 2
    while True:
        held = node != NO_CHILD
        place, node = place[held], node[held]
        ends = trie.ids[node] != NO_TOKEN
        best[place[ends]] = trie.ids[node[ends]]
        more = place + depth < len(text)
        place, node = place[more], node[more]
        if len(place) == 0:
            return best
        node = _step(trie, node, text[place + depth])
        depth += 1


def _step(trie: Trie, node: NDArray[np.int32], byte: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the child of each node for each byte, by bisection of its edges."""
    low = trie.first[node].astype(np.int64)
    end = low + trie.count[node]
    high = end.copy()
    for _ in range(9):  # at most 256 edges
        middle = (low + high) >> 1
        less = (low < high) & (trie.edge_bytes[np.minimum(middle, len(trie.edge_bytes) - 1)] < byte)
        high = np.where(less, high, np.minimum(middle, high))
        low = np.where(less, middle + 1, low)
    edge = np.minimum(low, len(trie.edge_bytes) - 1)
    return np.where((low < end) & (trie.edge_bytes[edge] == byte), trie.children[edge], NO_CHILD).astype(np.int32)


def chain(lengths: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the places below `limit` that are reached from 0 by steps of `lengths`, in log2(tokens) doublings."""
    jump = np.minimum(np.arange(limit) + lengths[:limit], limit)
    jump = np.append(jump, limit)
    seen = np.zeros(limit + 1, dtype=bool)
    seen[0] = True
    while True:
        reached = seen.copy()
        reached[jump[seen]] = True
        if np.array_equal(reached, seen):
            return np.flatnonzero(seen[:limit])
        seen, jump = reached, jump[jump]
