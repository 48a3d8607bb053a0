"""Totals over enriched parquet for its manifest, added row group by row group. Whole numbers only.

Bytes per token by category are counted here, because the tokenizer is trained on sources without categories.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.storage.ragged import Ragged, offsets_from, ragged

CATEGORIES: Final = "categories"
"""The name of the statistic: category -> `bytes`, `tokens`.

BOS is not counted; a token belongs to its first character.
"""
_CONTINUES_MASK, _CONTINUES = 0xC0, 0x80
"""The bits of a UTF-8 byte that continues a character."""


def _zeros() -> NDArray[np.int64]:
    return np.zeros(len(STRUCTURE_CATEGORIES), dtype=np.int64)


@dataclass(slots=True)
class EnrichedTotals:
    """Running totals."""

    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    chunks: int = 0
    call_edges: int = 0
    type_edges: int = 0
    dropped_edges: int = 0
    bytes_of: NDArray[np.int64] = field(default_factory=_zeros)
    tokens_of: NDArray[np.int64] = field(default_factory=_zeros)

    def add(self, source: pa.Table, enriched: pa.Table) -> None:
        """Count a table of `schemas.TOKENIZED` and its enriched table."""
        call_edges, type_edges = (
            _values(enriched, name) for name in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN)
        )
        self.documents += enriched.num_rows
        self.tokens += _values(enriched, c.TOKEN_IDS_COLUMN)
        self.text_bytes += pc.sum(pc.binary_length(enriched[c.TEXT])).as_py() or 0
        self.chunks += _values(enriched, c.TOKEN_CHUNK_STARTS_COLUMN)
        self.call_edges += call_edges
        self.type_edges += type_edges
        self.dropped_edges += _values(source, c.CALL_EDGES) + _values(source, c.TYPE_EDGES) - call_edges - type_edges
        self.bytes_of += _bytes_of_categories(source)
        ids, categories = (ragged(enriched, name).values for name in (c.TOKEN_IDS_COLUMN, c.TOKEN_STRUCTURE_IDS_COLUMN))
        self.tokens_of += _counts(categories[ids != BOS_ID])

    def as_stats(self) -> Mapping[str, Any]:
        """Return the manifest's statistics."""
        both = zip(STRUCTURE_CATEGORIES, self.bytes_of.tolist(), self.tokens_of.tolist(), strict=True)
        return {
            "documents": self.documents,
            "tokens": self.tokens,
            "text_bytes": self.text_bytes,
            "chunks": self.chunks,
            "call_edges": self.call_edges,
            "type_edges": self.type_edges,
            "dropped_edges": self.dropped_edges,
            CATEGORIES: {name: {"bytes": size, "tokens": tokens} for name, size, tokens in both},
        }


def _values(table: pa.Table, name: str) -> int:
    """Return the values in all lists of the column `name`."""
    return pc.sum(pc.list_value_length(table[name])).as_py() or 0


def _counts(categories: NDArray[np.uint8]) -> NDArray[np.int64]:
    # Comparing bytes takes a fifteenth of the time of `bincount`, which converts them to wider integers first.
    return np.array([np.count_nonzero(categories == category) for category in range(len(STRUCTURE_CATEGORIES))])


def _bytes_of_categories(table: pa.Table) -> NDArray[np.int64]:
    """Return the number of bytes of text by the category of their character; 0 for characters without a value."""
    characters = pc.utf8_length(table[c.TEXT]).to_numpy().astype(np.int64)
    categories = _padded(ragged(table, c.STRUCTURE_IDS), characters)
    data = np.frombuffer(b"".join(table[c.TEXT].cast(pa.binary()).to_pylist()), np.uint8)
    continuing = np.flatnonzero((data & _CONTINUES_MASK) == _CONTINUES)
    # A continuation byte belongs to the character before it. So the number of a byte's character is the number of bytes
    # up to it, minus the continuation bytes among these.
    further = categories[continuing - np.arange(len(continuing)) - 1]
    return _counts(categories) + _counts(further)


def _padded(categories: Ragged, lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the first `lengths` values of each document, 0 where it has fewer."""
    if np.array_equal(categories.lengths, lengths):
        return np.asarray(categories.values)
    offsets, values = offsets_from(lengths), np.zeros(lengths.sum(), dtype=np.uint8)
    inside = categories.position < lengths[categories.owner]
    values[(offsets[categories.owner] + categories.position)[inside]] = categories.values[inside]
    return values
