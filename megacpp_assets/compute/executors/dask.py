"""Runs batches on a Dask cluster. Outcomes come in submission order, whichever workers die.

Workers must see the same files under the same paths, and must have the same software, which is checked. A batch whose
worker dies runs again on another worker. It counts as crashed after the scheduler's `allowed-failures` deaths. Traffic
is neither encrypted nor authenticated, so use a private network.
"""

from __future__ import annotations

import pickle
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, wait
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar
from urllib.parse import urlsplit

import distributed

from megacpp_assets.compute.executors.executor import Outcome
from megacpp_assets.compute.executors.isolated import run_isolated
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError

Batch = TypeVar("Batch")
Result = TypeVar("Result")

SCHEME = "dask"
_POLL_S = 2.0
_DECISIVE = ("megacpp-assets", "libclang", "clang-tidy", "numpy", "pyarrow", "regex", "tokenizers", "tree-sitter-cpp")


class DaskPool:
    """The workers of the cluster at `dask://HOST:PORT`. Each batch runs in its own process on one of them."""

    def __init__(self, address: str, *, connect_s: float = 10.0, patience_s: float = 120.0) -> None:
        """Connect within `connect_s` seconds. Later wait at most `patience_s` seconds for a cluster without workers.

        `SpecError` for a malformed address, `EnvironmentLacks` if no scheduler answers.
        """
        self._address = scheduler_address(address)
        self._patience_s = patience_s
        try:
            self._client = distributed.Client(  # type: ignore[no-untyped-call]
                self._address, timeout=connect_s, set_as_default=False
            )
        except OSError as error:
            raise EnvironmentLacks(
                f"Dask scheduler {self._address}",
                expected="an answer",
                found=f"{type(error).__name__}",
                do="start it with `dask scheduler`, workers with `dask worker ADDRESS`; or unset MEGACPP_COMPUTE",
            ) from error

    def run(
        self, function: Callable[[Batch], Result], batches: Iterable[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """Yield one outcome per batch, in order; see `BatchExecutor.run`.

        `EnvironmentLacks` if the scheduler disappears, if there is no worker for `patience_s` seconds, or if a worker
        has other software: then the state of the batches is unknown.
        """
        tasks = [pickle.dumps((function, batch)) for batch in batches]
        executor = self._client.get_executor(pure=False)  # type: ignore[no-untyped-call]
        futures = deque(executor.submit(_on_worker, task, timeout_s, software()) for task in tasks)
        try:
            for index in range(len(tasks)):
                # Dropping the future frees the result on the worker, which would else keep it until the end.
                yield self._outcome(index, futures.popleft())
        finally:
            if self._client.status == "running":
                for future in futures:
                    future.cancel()

    def close(self) -> None:
        """Disconnect. The cluster keeps running."""
        self._client.close()  # type: ignore[no-untyped-call]

    def _outcome(self, index: int, future: Future[bytes]) -> Outcome[Result]:
        try:
            self._wait(future)
            value, failure = pickle.loads(future.result())  # noqa: S301 - from our own function, as multiprocessing would
        except distributed.KilledWorker as error:
            deaths = error.allowed_failures + 1
            return Outcome(index, None, f"crash: {deaths} workers died while they ran the batch")
        except CancelledError as error:
            raise EnvironmentLacks(
                f"Dask scheduler {self._address}", expected="to stay", found="connection lost", do="run again"
            ) from error
        except EnvironmentLacks:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary that records a failed batch
            return Outcome(index, None, f"error: {type(error).__name__}: {error}")
        return Outcome(index, value, failure)

    def _wait(self, future: Future[bytes]) -> None:
        """Wait for `future`, without a limit while the cluster has workers."""
        seen = time.monotonic()
        while not wait([future], timeout=_POLL_S).done:
            if self._client.scheduler_info()["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience_s:
                raise EnvironmentLacks(
                    f"Dask cluster {self._address}",
                    expected="a worker",
                    found=f"none for {self._patience_s:g} s",
                    do=f"start some with `dask worker {self._address}`",
                )


def scheduler_address(text: str) -> str:
    """Return `dask://HOST:PORT` as Dask's own `tcp://HOST:PORT`; `SpecError` for any other form."""
    parts = urlsplit(text)
    try:
        complete = parts.scheme == SCHEME and parts.hostname and parts.port
    except ValueError:  # the port is no number below 65,536
        complete = None
    if not complete or text != f"{SCHEME}://{parts.netloc}" or "@" in parts.netloc:
        raise SpecError("address of the Dask scheduler", expected=f"{SCHEME}://HOST:PORT", found=repr(text))
    return f"tcp://{parts.netloc}"


@cache
def software() -> str:
    """Return the versions of the interpreter and of every package that can change the results."""
    return ", ".join([f"python {platform.python_version()}", *(f"{name} {_version(name)}" for name in _DECISIVE)])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _on_worker(task: bytes, timeout_s: float, expected: str) -> bytes:
    """Run the batch in its own process, so that it cannot kill or limit the Dask worker."""
    if software() != expected:
        raise EnvironmentLacks(
            f"Dask worker on {platform.node()}",
            expected=expected,
            found=software(),
            do="install the same versions on every worker",
        )
    return run_isolated(task, timeout_s)
