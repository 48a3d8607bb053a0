"""Sums over batches of rows: how full the rows are, how many documents they have, and how long these are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from megacpp_assets.loader.rows import RowBatch

BATCHES: Final = 100
"""The number of batches per report (docs/contracts.md)."""


@dataclass(slots=True)
class Telemetry:
    """Sums over batches. Documents are never cropped: packing leaves out a document that does not fit."""

    batches: int = 0
    rows: int = 0
    tokens: int = 0
    valid_tokens: int = 0
    trained_tokens: int = 0
    documents: int = 0

    def add(self, batch: RowBatch) -> None:
        """Add a batch to the sums."""
        self.batches += 1
        self.rows += len(batch.input_ids)
        self.tokens += batch.input_ids.size
        self.valid_tokens += int(batch.valid_token_count.sum())
        self.trained_tokens += int(batch.loss_mask.sum())
        self.documents += int(batch.doc_ids[:, -1].sum()) + len(batch.doc_ids)

    def report(self) -> dict[str, Any]:
        """Return the sums, shares and means as values that JSON can hold. Without rows all of them are 0."""
        return {
            **asdict(self),
            "valid_share": self.valid_tokens / max(1, self.tokens),
            "docs_per_row": self.documents / max(1, self.rows),
            "avg_doc_tokens": self.valid_tokens / max(1, self.documents),
            "cropped_doc_frac": 0.0,
        }


def reported(batches: Iterable[RowBatch], every: int = BATCHES) -> Iterator[tuple[RowBatch, dict[str, Any] | None]]:
    """Yield (batch, None), and for every `every`-th batch (batch, report of the batches since the last report)."""
    since = Telemetry()
    for batch in batches:
        since.add(batch)
        if since.batches < every:
            yield batch, None
        else:
            yield batch, since.report()
            since = Telemetry()
