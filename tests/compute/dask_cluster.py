"""A real Dask cluster on this machine's loopback, made of processes that the test owns and ends by their handles."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import distributed

from megacpp_assets.compute.executors.certificates import CERTIFICATE_FILES, Certificates

CHECKOUT = Path(__file__).parents[2]
START_S = 60


class Cluster:
    """One scheduler and any number of single-threaded worker processes without a nanny."""

    def __init__(self, folder: Path, allowed_failures: int, certificates: Path | None = None) -> None:
        self._folder = folder
        self._certificates = certificates
        # A batch on a cluster's worker imports its function: the tests' own package must be found there too.
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(CHECKOUT),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(allowed_failures),
        }
        self.port = _free_port()
        self.scheduler = self._start("scheduler", "--port", str(self.port), "--idle-timeout", "600")
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """As `MEGACPP_COMPUTE` would have it."""
        return f"dask://127.0.0.1:{self.port}"

    @property
    def _tcp(self) -> str:
        return f"{'tls' if self._certificates else 'tcp'}://127.0.0.1:{self.port}"

    def _client(self) -> distributed.Client:
        security = Certificates(self._certificates).security() if self._certificates else None
        return distributed.Client(self._tcp, timeout=START_S, set_as_default=False, security=security)

    def grow(self, workers: int) -> None:
        """Return when exactly `workers` workers are running; dead ones are replaced."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < workers:
            place = self._folder / f"worker-{len(list(self._folder.iterdir()))}"
            place.mkdir()
            options = ["--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--death-timeout", "60"]
            self.workers.append(self._start("worker", self._tcp, *options, "--local-directory", str(place)))
        with self._client() as client:
            client.wait_for_workers(workers, timeout=START_S)

    def killed(self) -> int:
        """Number of workers that SIGKILL has ended, once every process has that the scheduler has lost.

        A dying process closes its connections before it can be waited for.
        """
        with self._client() as client:
            known = len(client.scheduler_info(n_workers=-1)["workers"])
        last = time.monotonic() + START_S
        while sum(worker.poll() is None for worker in self.workers) > known and time.monotonic() < last:
            time.sleep(0.01)
        return sum(worker.poll() == -signal.SIGKILL for worker in self.workers)

    def stop(self) -> None:
        """End every process and wait for it."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, "--host", "127.0.0.1"]
        command += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        if self._certificates:
            names = zip(("ca-file", "cert", "key"), CERTIFICATE_FILES, strict=True)
            command += [f"--tls-{option}={self._certificates / name}" for option, name in names]
        with (self._folder / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, cwd=self._folder)


@contextmanager
def cluster(
    folder: Path, *, workers: int, allowed_failures: int = 1, certificates: Path | None = None
) -> Iterator[Cluster]:
    """A cluster of `workers` running workers for the length of a `with` block."""
    started = Cluster(folder, allowed_failures, certificates)
    try:
        started.grow(workers)
        yield started
    finally:
        started.stop()


def write_certificates(folder: Path) -> Path:
    """Write the certificates of a new authority, of which the scheduler, the workers and the client have one each."""
    made = distributed.Security.temporary()
    texts = (made.tls_ca_file, made.tls_client_cert, made.tls_client_key)
    for name, text in zip(CERTIFICATE_FILES, texts, strict=True):
        (folder / name).write_text(text)
    return folder


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
