"""The greedy longest-match tokenizer, a model of its own: at every place the longest token that fits.

It is not BPE: over one vocabulary of 131,072 ids it gave other ids for 6,510 of 6,539 real files, and 5.7 % of BPE's
tokens were not among its own (`megacpp tokenizer trie` measures a corpus). So it never encodes a corpus whose lock
names the BPE model. Words and merges play no part; any bytes are encoded, and decode to themselves.
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
    """A flat trie in breadth-first order: node 0 is the root and the children of a node lie together, by byte.

    The edges of node n are `first[n] : first[n] + count[n]` of `edge_bytes` (uint8) and `children` (int32); `ids[n]` is
    its token, NO_TOKEN if it ends none. `root` and `second` are the first two steps as tables: `root[b]` is the node of
    byte b, `second[b * 256 + c]` that of b, c; NO_CHILD where there is none. `longest` is the most bytes of a token.
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
    """The trie of (bytes, id) pairs; `SpecError` unless every single byte is a token and no string has two ids."""
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
class Comparison:
    """Given in place of a corpus's lock where the trie is measured beside BPE: what it encodes belongs to no corpus."""


Purpose = TokenizerLock | Comparison


def trie_tokens(model: Model, purpose: Purpose) -> list[tuple[bytes, int]]:
    """(bytes, id) of every token that BPE can give: what a word may become, and the guards.

    A guard is cut out before any word is made, so no word equals one and `reachable` leaves them out; here they are
    strings like all others. Special tokens are on no edge: text that spells one cannot become it. `TokenizerDrift`
    where `purpose` is the lock of a corpus that another model encodes.
    """
    if isinstance(purpose, TokenizerLock) and purpose.model != TRIE_MODEL:
        raise TokenizerDrift("model of the corpus", expected=purpose.model, found=TRIE_MODEL, do="encode with BPE")
    tokens = model.token_bytes()
    ids = {*model.reachable(), *model.guards.values()}
    return [(tokens[index], index) for index in sorted(ids)]


class LongestMatch(Protocol):
    """What encodes with this model, on a CPU or a GPU."""

    model_name: str

    def encode(self, text: bytes) -> NDArray[np.int32]:
        """The ids of `text`."""
        ...

    def decode(self, ids: NDArray[np.int32]) -> bytes:
        """The bytes that were encoded."""
        ...


class TrieTokenizer:
    """Longest match over the tokens that BPE can give. Named `trie_longest_match`, never `bpe`: it is made for the lock
    of a corpus that names it, or for a comparison."""

    model_name = TRIE_MODEL

    def __init__(self, model: Model, purpose: Purpose, *, chunk_bytes: int = CHUNK_BYTES) -> None:
        tokens = model.token_bytes()
        self.trie = build_trie(trie_tokens(model, purpose))
        self._lengths = np.array([len(token) for token in tokens], dtype=np.int64)
        self._tokens = tokens
        self._chunk = chunk_bytes

    def encode(self, text: bytes) -> NDArray[np.int32]:
        """The ids of `text`. Chunks are looked at one after the other, with as many bytes of the next as a token has;
        a token that crosses into the next chunk is taken whole, so where chunks end does not show."""
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
        """The bytes that were encoded."""
        return b"".join(self._tokens[index] for index in ids.tolist())


def longest_tokens(trie: Trie, text: NDArray[np.uint8]) -> NDArray[np.int32]:
    """At every place of `text` the id of the longest token that begins there. All places take each step together."""
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
    """The child of each node by each byte, by bisection of its edges."""
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
    """The places below `limit` that are met from 0 by going on by `lengths`, in log2(tokens) doublings."""
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
