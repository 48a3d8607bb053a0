"""Choice of executor: local by default, `MEGACPP_COMPUTE=dask://HOST:PORT` for a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from megacpp_assets.compute.executor import BatchExecutor
from megacpp_assets.compute.local import LocalPool
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError

COMPUTE_VARIABLE = "MEGACPP_COMPUTE"
WORKERS_VARIABLE = "MEGACPP_WORKERS"
LOCAL = "local"
_DASK = "dask://"


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
    """An executor for the length of a `with` block. Results do not depend on which one, nor on the workers' number.

    `SpecError` if `MEGACPP_COMPUTE` is neither `local` nor `dask://HOST:PORT`; `EnvironmentLacks` if the cluster does
    not answer or Dask is not installed.
    """
    executor = _choose(os.environ.get(COMPUTE_VARIABLE, LOCAL))
    try:
        yield executor
    finally:
        executor.close()


def _choose(address: str) -> BatchExecutor:
    if address == LOCAL:
        return LocalPool(worker_count())
    if not address.startswith(_DASK):
        raise SpecError(COMPUTE_VARIABLE, expected=f"{LOCAL} or {_DASK}HOST:PORT", found=repr(address))
    try:
        from megacpp_assets.compute.dask import DaskPool  # noqa: PLC0415 - an optional dependency
    except ModuleNotFoundError as error:
        if error.name != "distributed":
            raise
        raise EnvironmentLacks(
            f"{COMPUTE_VARIABLE}={address}",
            expected="the package distributed",
            found="none",
            do="pip install 'megacpp-assets[dask]'",
        ) from error
    return DaskPool(address)
