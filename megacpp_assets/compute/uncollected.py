"""Work that is one long making of values: Python's cycle collector would look through all of them, again and again."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def uncollected(work: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """`work` without the collector, for what makes no cycles; reference counts go on, and so does it afterwards."""

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
