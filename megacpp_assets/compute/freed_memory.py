"""Returns memory that Python has freed to the system, between two parts of a step that need different things.

The C library keeps what is freed, because the next part may take it. In the holes between what stays it often cannot.
"""

from __future__ import annotations

import ctypes

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
"""A function of glibc. Other libraries return pages by themselves, or never."""


def return_freed_memory() -> None:
    """Return all freed pages to the system. It takes a few milliseconds."""
    if _trim is not None:
        _trim(0)
