"""Sums over token parquet for its manifest, added batch by batch. Only deterministic counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c

SUMS: Final = ("documents", "tokens", "characters", "text_bytes", "val_documents", "val_tokens", "split_documents")
"""The statistics that can be summed over several `TokenizedTotals`."""
_LEAST_BOUND: Final = 16


def histogram_bounds(budget: int) -> list[int]:
    """Return the inclusive upper bounds of the token histogram: 16, 32, … and finally `budget`."""
    powers = range(_LEAST_BOUND.bit_length() - 1, budget.bit_length())
    return [*(2**power for power in powers if 2**power < budget), budget]


@dataclass(slots=True)
class TokenizedTotals:
    """Running totals of documents of at most `budget` tokens. Each piece of a split document counts as a document."""

    budget: int
    documents: int = 0
    tokens: int = 0
    characters: int = 0
    text_bytes: int = 0
    val_documents: int = 0
    val_tokens: int = 0
    split_documents: int = 0
    max_tokens: int = 0
    bounds: list[int] = field(init=False)
    histogram: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.bounds = histogram_bounds(self.budget)
        self.histogram = np.zeros(len(self.bounds), dtype=np.int64)

    def add(self, table: pa.Table, validation: NDArray[np.bool_], split_documents: int) -> None:
        """Count the rows of a tokenized table. `validation` (rows,) is True for a row of the validation split."""
        counts = table[c.ACTUAL_TOKEN_COUNT].to_numpy().astype(np.int64)
        self.documents += table.num_rows
        self.tokens += int(counts.sum())
        self.characters += pc.sum(pc.utf8_length(table[c.TEXT])).as_py() or 0
        self.text_bytes += pc.sum(pc.binary_length(table[c.TEXT])).as_py() or 0
        self.val_documents += int(validation.sum())
        self.val_tokens += int(counts[validation].sum())
        self.split_documents += split_documents
        self.max_tokens = max(self.max_tokens, int(counts.max(initial=0)))
        self.histogram += np.bincount(np.searchsorted(self.bounds, counts), minlength=len(self.bounds))

    def as_stats(self) -> dict[str, Any]:
        """Return the statistics for the manifest."""
        histogram = zip(self.bounds, self.histogram.tolist(), strict=True)
        return {
            "documents": self.documents,
            "tokens": self.tokens,
            "characters": self.characters,
            "text_bytes": self.text_bytes,
            "val_documents": self.val_documents,
            "val_tokens": self.val_tokens,
            "split_documents": self.split_documents,
            "max_tokens": self.max_tokens,
            "token_histogram": [list(bar) for bar in histogram],
        }
