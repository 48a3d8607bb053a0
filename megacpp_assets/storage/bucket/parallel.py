"""Work on many objects at once, within a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from megacpp_assets.storage.atomic import undone_on_error

AT_ONCE: Final = 8
"""Objects that travel at the same time. Google's client keeps a pool of ten connections."""
_Item = TypeVar("_Item")


def in_parallel(work: Callable[[_Item], object], items: Iterable[_Item]) -> None:
    """Do `work` for every item in at most `AT_ONCE` threads. After a failure no further item is started.

    Raises the first failure in the order of items, when all running ones have ended.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(work, item) for item in items]
        with undone_on_error(lambda: pool.shutdown(wait=False, cancel_futures=True)):
            for future in futures:
                future.result()
