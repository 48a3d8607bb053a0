"""The one seam for parallel work: batches in, outcomes out in submission order; a batch may crash or hang alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """What became of one batch: `value`, or the reason it has none (`crash: …`, `timeout: …`, `error: …`)."""

    index: int
    value: Result | None
    failure: str | None = None


class BatchExecutor(Protocol):
    """Runs picklable module-level functions over batches, isolated from each other and from the caller."""

    def run(
        self, function: Callable[[Batch], Result], batches: Iterable[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """Yield one outcome per batch, in the order of `batches`; never raises for what a batch did.

        Batches may be taken while outcomes are; those that run when the iterator is closed are ended.
        """

    def close(self) -> None:
        """Release the workers."""
