"""How many cores a task takes."""

from __future__ import annotations

from typing import Final

ELASTIC: Final = 0
"""The number of cores of a task that uses the free cores, shared with the other tasks that could start."""
