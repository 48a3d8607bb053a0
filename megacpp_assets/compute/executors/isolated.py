"""Runs one batch in its own process, which dies with its parent. A crash ends only that process.

A pickled (function, batch) comes in. The answer, (value, failure), goes out as `answers.pack` makes it, because a batch
reads what strangers wrote. A failing batch never raises here.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import IO, Final

from megacpp_assets.compute.executors.answers import pack
from megacpp_assets.compute.lifetime import die_with_parent

_LOOK_S: Final = 1.0
"""The pause between two looks whether the answer is still wanted."""


def run_isolated(
    task: bytes,
    timeout_s: float,
    variables: Mapping[str, str] | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> bytes:
    """Run the pickled (function, batch) of `task` in a new interpreter; return the packed (value, failure or None).

    `variables` are added to its environment. It ends as soon as `is_wanted()` is false. Failures are worded as in
    `Outcome.failure`. `multiprocessing` cannot do this: a Dask worker is daemonic, and a daemonic process may not start
    such children.
    """
    with (
        _file_of(task) as stdin,
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(os.getpid())],
            stdin=stdin,
            stdout=subprocess.PIPE,
            env={**os.environ, **(variables or {}), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        ) as process,
    ):
        try:
            answer = _answer_of(process, timeout_s, is_wanted)
        except subprocess.TimeoutExpired:
            return _failed(f"timeout: no answer in {timeout_s:g} s")
        finally:
            # After a timeout or an interrupt, end the children of the batch as well. Kill the whole session before
            # the process is reaped: until then no other process can have its id.
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode or not answer:
        return _failed(f"crash: worker ended with exit code {process.returncode}")
    return answer


def _file_of(task: bytes) -> IO[bytes]:
    """Return a file with `task`. A pipe would need this process to go on writing while it looks."""
    file = tempfile.TemporaryFile()
    file.write(task)
    file.seek(0)
    return file


def _answer_of(process: subprocess.Popen[bytes], timeout_s: float, is_wanted: Callable[[], bool]) -> bytes:
    """Return the answer. `TimeoutExpired` if there is none in `timeout_s` seconds, or before if nobody wants it."""
    last = time.monotonic() + timeout_s
    while True:
        try:
            return process.communicate(timeout=max(0.0, min(_LOOK_S, last - time.monotonic())))[0]
        except subprocess.TimeoutExpired:
            if time.monotonic() >= last or not is_wanted():
                raise


def _failed(reason: str) -> bytes:
    return pack((None, reason))


def _serve(parent: int) -> None:
    """Run in the new interpreter: read the task from standard input and write the answer to the original stdout."""
    die_with_parent(parent)
    # Parsers may print to standard output, so the answer has its own descriptor, which no child inherits.
    answers = os.dup(1)
    os.dup2(2, 1)
    answer = _answer(sys.stdin.buffer.read())
    with os.fdopen(answers, "wb") as stream:
        stream.write(answer)
    # Skip the exit handlers of native libraries that the batch has loaded: the work is done.
    os._exit(0)


def _answer(task: bytes) -> bytes:
    try:
        function, batch = pickle.loads(task)  # noqa: S301 - written by our own client, as multiprocessing would
        return pack((function(batch), None))
    except Exception as error:  # noqa: BLE001 - the boundary that records a failed batch
        reason = f"error: {type(error).__name__}: {error}"
    return _failed(reason)  # after the exception is gone, which may hold all the memory that the batch was allowed


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
