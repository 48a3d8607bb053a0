"""Runs batches on a Dask cluster. Outcomes come in submission order, whichever workers die.

Workers need no folder of this machine: folders that batches read are sent once to each host. They must have the same
software and the same compiler's headers, which is checked. A batch whose worker dies runs again on another worker. It
counts as crashed after the scheduler's `allowed-failures` deaths. Answers are parsed, not unpickled. Only a scheduler
on this machine is reached without TLS.
"""

from __future__ import annotations

import pickle
import platform
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from typing import Any, TypeVar
from urllib.parse import urlsplit

import dask
import distributed
from distributed.client import ClosedClientError

from megacpp_assets.compute.executors.answers import pack, unpack
from megacpp_assets.compute.executors.certificates import CERTIFICATE_FILES, TLS_VARIABLE, Certificates, is_loopback
from megacpp_assets.compute.executors.executor import BatchExecutor, Outcome
from megacpp_assets.compute.executors.folders import (
    NeededFolder,
    NotOnHost,
    SharedFolder,
    pack_folder,
    unpacked,
    variables,
)
from megacpp_assets.compute.executors.kept import run_kept
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError

Batch = TypeVar("Batch")
Result = TypeVar("Result")

SCHEME = "dask"
_POLL_S = 2.0
_NOT_ON_HOST = "the worker's host lacks a folder"
_DECISIVE = (
    "megacpp-assets",
    "libclang",
    "clang-tidy",
    "numpy",
    "pyarrow",
    "regex",
    "tokenizers",
    "tree-sitter",
    "tree-sitter-cpp",
)


class DaskPool:
    """The workers of the cluster at `dask://HOST:PORT`. Batches run in another process of their hosts."""

    def __init__(
        self,
        address: str,
        certificates: Certificates | None = None,
        *,
        workers_here: int = 1,
        connect_s: float = 10.0,
        patience_s: float = 120.0,
    ) -> None:
        """Connect within `connect_s` seconds. Later wait at most `patience_s` seconds for a cluster without workers.

        `workers_here` processes run what only this machine can. `SpecError` for a malformed address, `EnvironmentLacks`
        if no scheduler answers, or if one on another machine is to be reached without `certificates`.
        """
        self._address = scheduler_address(address, encrypted=certificates is not None)
        self._patience_s = patience_s
        self._workers_here = workers_here
        self._here: LocalPool | None = None
        self._needed: tuple[NeededFolder, ...] = ()
        self._sent: list[Any] = []
        try:
            self._client = distributed.Client(  # type: ignore[no-untyped-call]
                self._address,
                timeout=connect_s,
                set_as_default=False,
                security=certificates.security() if certificates else None,
            )
        except OSError as error:
            raise EnvironmentLacks(
                f"Dask scheduler {self._address}",
                expected="an answer",
                found=f"{type(error).__name__}",
                do="start it with `dask scheduler`, workers with `dask worker ADDRESS`; or unset MEGACPP_COMPUTE",
            ) from error

    def provide(self, *folders: SharedFolder) -> None:
        """Have `folders` sent with later batches. A single batch goes without them first: its host may have them."""
        self._needed, self._sent = tuple(map(NeededFolder.of, folders)), []

    @property
    def here(self) -> BatchExecutor:
        """A pool of this machine."""
        self._here = self._here or LocalPool(self._workers_here)
        return self._here

    def run(
        self, function: Callable[[Batch], Result], batches: Iterable[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """Yield one outcome per batch, in order; see `BatchExecutor.run`.

        `EnvironmentLacks` if the scheduler disappears, if there is no worker for `patience_s` seconds, or if a worker
        has other software: then the state of the batches is unknown.
        """
        tasks = [pickle.dumps((function, batch)) for batch in batches]
        futures = deque(self._submit(task, timeout_s, with_folders=len(tasks) > 1) for task in tasks)
        try:
            for index, task in enumerate(tasks):
                # Dropping the future frees the result on the worker, which would else keep it until the end.
                outcome: Outcome[Result] = self._outcome(index, futures.popleft())
                if outcome.failure == _NOT_ON_HOST:
                    outcome = self._outcome(index, self._submit(task, timeout_s, with_folders=True))
                yield outcome
        finally:
            if self._client.status == "running":
                for future in futures:
                    future.cancel()

    def close(self) -> None:
        """Disconnect. The cluster keeps running."""
        self._sent = []
        self._client.close()  # type: ignore[no-untyped-call]
        if self._here:
            self._here.close()

    def _submit(self, task: bytes, timeout_s: float, *, with_folders: bool) -> Future[bytes]:
        try:
            if with_folders and not self._sent:
                self._sent = [self._send(pack_folder(needed.folder.path)) for needed in self._needed]
            executor = self._client.get_executor(pure=False)  # type: ignore[no-untyped-call]
            sent = self._sent if with_folders else []
            future: Future[bytes] = executor.submit(_on_worker, task, timeout_s, software(), self._needed, *sent)
        except ClosedClientError as error:
            raise self._lost() from error
        return future

    def _lost(self) -> EnvironmentLacks:
        return EnvironmentLacks(
            f"Dask scheduler {self._address}", expected="to stay", found="connection lost", do="run again"
        )

    def _send(self, packed: bytes) -> Any:
        """Return a future of the bytes: of a task, because the scheduler can run it again if their worker dies."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self._client.submit(_unchanged, packed, pure=False)  # type: ignore[no-untyped-call]

    def _outcome(self, index: int, future: Future[bytes]) -> Outcome[Result]:
        try:
            self._wait(future)
            value, failure = unpack(future.result())
        except distributed.KilledWorker as error:
            deaths = error.allowed_failures + 1
            return Outcome(index, None, f"crash: {deaths} workers died while they ran the batch")
        except CancelledError as error:
            raise self._lost() from error
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


def scheduler_address(text: str, *, encrypted: bool) -> str:
    """Return `dask://HOST:PORT` as Dask's own `tcp://HOST:PORT`, or `tls://HOST:PORT` if `encrypted`.

    `SpecError` for any other form. `EnvironmentLacks` for another machine without encryption.
    """
    parts = urlsplit(text)
    try:
        complete = parts.scheme == SCHEME and parts.hostname and parts.port
    except ValueError:  # the port is no number below 65,536
        complete = None
    if not complete or text != f"{SCHEME}://{parts.netloc}" or "@" in parts.netloc:
        raise SpecError("address of the Dask scheduler", expected=f"{SCHEME}://HOST:PORT", found=repr(text))
    if not encrypted and not is_loopback(str(parts.hostname)):
        raise EnvironmentLacks(
            f"Dask scheduler {text}",
            expected="certificates, because it is not on this machine",
            found=f"no {TLS_VARIABLE}",
            do=f"set {TLS_VARIABLE} to a folder with {', '.join(CERTIFICATE_FILES)}",
        )
    return f"{'tls' if encrypted else 'tcp'}://{parts.netloc}"


@cache
def software() -> str:
    """Return the versions of the interpreter and of every package that can change the results."""
    return ", ".join([f"python {platform.python_version()}", *(f"{name} {_version(name)}" for name in _DECISIVE)])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _unchanged(packed: bytes) -> bytes:
    return packed


def _on_worker(task: bytes, timeout_s: float, versions: str, needed: tuple[NeededFolder, ...], *packed: bytes) -> bytes:
    """Run the batch in another process, so that it cannot kill or limit the Dask worker."""
    _require("the same versions on every worker", versions, software())
    with ExitStack() as held:
        places = []
        for each, data in zip_longest(needed, packed):
            try:
                places.append(held.enter_context(unpacked(each, data)))
            except NotOnHost:
                return pack((None, _NOT_ON_HOST))
            _require("the same compiler and system headers on every worker", each.identity, places[-1].identity)
        return run_kept(task, timeout_s, variables(places), _is_wanted)


def _is_wanted() -> bool:
    """Return whether a run waits for the task of this thread: none does after it was cancelled or the run has ended."""
    worker = distributed.get_worker()  # type: ignore[no-untyped-call]
    task = worker.state.tasks.get(worker.get_current_task())
    return task is not None and task.state != "cancelled"


def _require(what: str, expected: str, found: str) -> None:
    if found != expected:
        raise EnvironmentLacks(
            f"Dask worker on {socket.gethostname()}", expected=expected, found=found, do=f"install {what}"
        )
