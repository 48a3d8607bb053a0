"""Choice of executor: local by default, `MEGACPP_COMPUTE=dask://HOST:PORT` for a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from megacpp_assets.compute.executor import BatchExecutor
from megacpp_assets.compute.local import LocalPool
from megacpp_assets.contract.errors import SpecError

COMPUTE_VARIABLE = "MEGACPP_COMPUTE"
WORKERS_VARIABLE = "MEGACPP_WORKERS"


def worker_count() -> int:
    """Local worker processes: `MEGACPP_WORKERS`, else the processors this process may use."""
    text = os.environ.get(WORKERS_VARIABLE)
    if text is None:
        return len(os.sched_getaffinity(0))
    if not text.isdigit() or int(text) < 1:
        raise SpecError(WORKERS_VARIABLE, expected="a whole number of at least 1", found=repr(text))
    return int(text)


@contextmanager
def open_executor() -> Iterator[BatchExecutor]:
    """An executor for the length of a `with` block. Results do not depend on which one, nor on the workers' number."""
    address = os.environ.get(COMPUTE_VARIABLE, "local")
    if address != "local":
        raise SpecError(COMPUTE_VARIABLE, expected="local", found=repr(address))
    pool = LocalPool(worker_count())
    try:
        yield pool
    finally:
        pool.close()
