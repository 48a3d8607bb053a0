"""Disables Python's cycle collector during work that creates many objects, which it would scan again and again."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

_NEW_OBJECTS: Final = 20_000
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def gc_disabled(work: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return `work` with the cycle collector disabled while it runs. Use it for work that creates no cycles."""

    @wraps(work)
    def paused(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if not gc.isenabled():
            return work(*args, **kwargs)
        gc.disable()
        try:
            return work(*args, **kwargs)
        finally:
            gc.enable()

    return paused


def search_for_cycles_rarely() -> None:
    """Have the cycle collector wait for 20,000 new objects instead of 700: for the beginning of a program.

    Importing Dagster or torch creates millions of objects that stay. The collector would scan them again and again.
    """
    gc.set_threshold(_NEW_OBJECTS)
