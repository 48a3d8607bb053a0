"""The interface of all parallel work: batches go in, outcomes come out in the same order; one batch may crash alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from megacpp_assets.compute.executors.folders import SharedFolder

Batch = TypeVar("Batch")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """The outcome of one batch: its `value`, or the `failure` (`crash: …`, `timeout: …` or `error: …`)."""

    index: int
    value: Result | None
    failure: str | None = None


class BatchExecutor(Protocol):
    """Runs picklable module-level functions over batches. Batches cannot damage each other or the caller."""

    def run(
        self, function: Callable[[Batch], Result], batches: Iterable[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """Yield one outcome per batch, in the order of `batches`. A failing batch never raises here.

        The iterator reads more batches while it yields outcomes. Closing it ends the batches that still run.
        """

    def provide(self, *folders: SharedFolder) -> None:
        """Make `folders` readable for the batches of later calls of `run`. Their files stay as they are."""

    @property
    def here(self) -> BatchExecutor:
        """Runs batches on this machine: those that write to a folder, which no other machine would see."""

    def close(self) -> None:
        """Stop the workers."""
