"""CPU time of a Dask scheduler and a worker while one long task runs: python -m benchmarks.dask_idle.

Measured for 60 seconds on loopback, first with Dask's defaults, then with the variables of docs/cluster.md. The task
only sleeps. The printed time is therefore that of Dask itself.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import psutil
from distributed import Client

_QUIET: Final = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
}
_START_SECONDS: Final = 60
_SETTLE_SECONDS: Final = 8
_SECONDS: Final = 60


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _seconds(process: subprocess.Popen[bytes]) -> float:
    """CPU seconds of a process so far."""
    times = psutil.Process(process.pid).cpu_times()
    return float(times.user + times.system)


def _measure(what: str, variables: Mapping[str, str]) -> None:
    address = f"127.0.0.1:{_free_port()}"
    scheduler = [
        "scheduler",
        "--host",
        address.partition(":")[0],
        "--port",
        address.partition(":")[2],
        "--no-dashboard",
    ]
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        worker = ["worker", f"tcp://{address}", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        processes = []
        for words in (scheduler, [*worker, "--local-directory", folder]):
            command = [str(Path(sys.executable).with_name("dask")), *words]
            process = subprocess.Popen(command, env={**os.environ, **variables}, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            processes.append(process)
        client = stack.enter_context(Client(f"tcp://{address}", timeout=_START_SECONDS))
        client.wait_for_workers(1, timeout=_START_SECONDS)
        task = client.submit(time.sleep, _SETTLE_SECONDS + 2 * _SECONDS)
        time.sleep(_SETTLE_SECONDS)
        before, start = [_seconds(each) for each in processes], time.monotonic()
        time.sleep(_SECONDS)
        elapsed = time.monotonic() - start
        shares = [100 * (_seconds(each) - spent) / elapsed for each, spent in zip(processes, before, strict=True)]
        task.cancel()
    print(f"{what}: scheduler {shares[0]:.1f} % of a core, worker {shares[1]:.1f} %", flush=True)


def main() -> None:
    """Measure both settings."""
    _measure("defaults", {})
    _measure("with the variables", _QUIET)


if __name__ == "__main__":
    main()
