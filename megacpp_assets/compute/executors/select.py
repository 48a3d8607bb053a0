"""Chooses the executor: a local pool by default, or a Dask cluster with `MEGACPP_COMPUTE=dask://HOST:PORT`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError

COMPUTE_VARIABLE = "MEGACPP_COMPUTE"
WORKERS_VARIABLE = "MEGACPP_WORKERS"
LOCAL = "local"
_DASK = "dask://"


def worker_count() -> int:
    """Return the number of local workers: `MEGACPP_WORKERS`, or else the processors that this process may use.

    `SpecError` if the variable is not a whole number of at least 1.
    """
    text = os.environ.get(WORKERS_VARIABLE)
    if text is None:
        return len(os.sched_getaffinity(0))
    if not text.isdigit() or int(text) < 1:
        raise SpecError(
            WORKERS_VARIABLE,
            expected="a whole number of at least 1",
            found=repr(text),
            do="correct the variable, or unset it",
        )
    return int(text)


def on_cluster() -> bool:
    """Return whether `MEGACPP_COMPUTE` names a cluster."""
    return os.environ.get(COMPUTE_VARIABLE, LOCAL) != LOCAL


@contextmanager
def open_executor() -> Iterator[BatchExecutor]:
    """Open an executor for the block. The results depend neither on the executor nor on the number of workers.

    `SpecError` if `MEGACPP_COMPUTE` is neither `local` nor `dask://HOST:PORT`; `EnvironmentLacks` if the cluster does
    not answer or Dask is not installed.
    """
    executor = _choose(os.environ.get(COMPUTE_VARIABLE, LOCAL))
    try:
        yield executor
    finally:
        executor.close()


@contextmanager
def open_local() -> Iterator[LocalPool]:
    """Open a pool of this machine for the block, for batches that share a folder which they write to."""
    pool = LocalPool(worker_count())
    try:
        yield pool
    finally:
        pool.close()


def _choose(address: str) -> BatchExecutor:
    if address == LOCAL:
        return LocalPool(worker_count())
    if not address.startswith(_DASK):
        raise SpecError(
            COMPUTE_VARIABLE,
            expected=f"{LOCAL} or {_DASK}HOST:PORT",
            found=repr(address),
            do="correct the variable, or unset it",
        )
    try:
        from megacpp_assets.compute.executors.certificates import certificates  # noqa: PLC0415 - needs Dask
        from megacpp_assets.compute.executors.dask import DaskPool  # noqa: PLC0415 - an optional dependency
    except ModuleNotFoundError as error:
        if error.name != "distributed":
            raise
        raise EnvironmentLacks(
            f"{COMPUTE_VARIABLE}={address}",
            expected="the package distributed",
            found="none",
            do="pip install 'megacpp-assets[dask]'",
        ) from error
    return DaskPool(address, certificates(), workers_here=worker_count())
