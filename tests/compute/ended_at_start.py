"""A program that is asked to end, by the signal that its argument names, while its pool starts a worker.

It prints how many workers its pool has left behind when it is closed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from contextlib import closing
from multiprocessing.context import SpawnProcess

from megacpp_assets.compute.executors.local import LocalPool


def leave(number: int, _frame: object) -> None:
    """As a worker process of the line leaves: what is open is closed."""
    sys.exit(128 + number)


def main(number: signal.Signals) -> None:
    start = SpawnProcess.start

    def start_and_be_ended(process: SpawnProcess) -> None:
        start(process)
        os.kill(os.getpid(), number)

    SpawnProcess.start = start_and_be_ended  # type: ignore[method-assign]
    signal.signal(number, leave)
    try:
        with closing(LocalPool(workers=2)) as pool:
            list(pool.run(str, range(4), timeout_s=30))
    finally:
        print(len(multiprocessing.active_children()))


if __name__ == "__main__":
    main(signal.Signals[sys.argv[1]])
