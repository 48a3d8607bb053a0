"""How a stage tells how far it is; the command line draws it, Dagster logs it, tests ignore it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with units done and units in all (files, documents, steps)."""

    def __call__(self, done: int, total: int) -> None:
        """Report; must be cheap and must not raise."""


def silent(done: int, total: int) -> None:
    """A `Progress` that tells nobody."""
