"""How a stage reports progress. The command line draws it, Dagster logs it, tests ignore it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A function called with the number of units done and of all units (files, documents, steps)."""

    def __call__(self, done: int, total: int) -> None:
        """Report progress. It must be cheap and must not raise."""


def silent(done: int, total: int) -> None:
    """A `Progress` that does nothing."""
