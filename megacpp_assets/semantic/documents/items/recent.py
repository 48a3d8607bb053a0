"""Keeps the results for the arguments that were used last, so that memory does not grow with the repository.

Documents are made in file order, and what they show is mostly near. So most results are needed again soon or never.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, ParamSpec, TypeVar

RESULTS: Final = 1 << 14
"""The number of results that each function keeps. A document of 4,096 tokens shows some hundred items."""
WORDS: Final = 1 << 12
"""The number of results of functions that return the words of a text, which take some kilobytes."""
FILES: Final = 64
"""The number of results of functions that look at a whole file."""
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def recent(function: Callable[Parameters, Result], results: int = RESULTS) -> Callable[Parameters, Result]:
    """Return `function`, which must depend on its arguments alone, with its last `results` kept."""
    return lru_cache(results)(function)  # type: ignore[return-value, arg-type]
