"""How many cores a task takes."""

from __future__ import annotations

from typing import Final

ELASTIC: Final = 0
"""Cores of a task that takes what is free when it starts, shared with the others that could start then."""
