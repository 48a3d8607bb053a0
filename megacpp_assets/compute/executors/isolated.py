"""Runs batches in their own process, which dies with its parent. A crash ends only that process.

A pickled (function, batch) comes in. The answer, (value, failure), goes out as `answers.pack` makes it, because a batch
reads what strangers wrote. A failing batch never raises here. Task and answer are files in memory, whose descriptors
travel over a socket pair: neither process waits until the other one has read.
"""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping
from typing import IO, Final

from megacpp_assets.compute.executors.answers import pack
from megacpp_assets.compute.lifetime import die_with_parent
from megacpp_assets.compute.limits import allow_all

_LOOK_S: Final = 1.0
"""The pause between two looks whether the answer is still wanted."""
_IDLE_S: Final = 30.0
"""A process without a task for this long ends."""
_IDLE_CODE: Final = 75
"""The exit code of a process that got no task."""
_AGAIN, _LAST = b"+", b"."
"""What a process says when its answer is complete: it can run another batch, or not."""
_RESOURCES: Final = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


class ProcessEnded(Exception):
    """The process had ended, because it had no task for some time. The batch did not run."""


class IsolatedProcess:
    """A new interpreter that runs one batch after another. Each begins with the same limits and working directory.

    `variables` are added to its environment. It ends with the thread that made it. `multiprocessing` cannot do this: a
    Dask worker is daemonic, and a daemonic process may not start such children.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = dict(variables)
        self.batches = 0
        self.can_run = True
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno()), str(os.getpid()), str(_IDLE_S)],
                stdin=subprocess.DEVNULL,
                stdout=2,  # parsers may print
                env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._process, self._socket = process, ours
        self._end = weakref.finalize(self, _end, process, ours)

    def run(self, task: bytes, timeout_s: float, is_wanted: Callable[[], bool]) -> bytes:
        """Run the pickled (function, batch) of `task`; return the packed (value, failure or None).

        The process ends as soon as `is_wanted()` is false. Failures are worded as in `Outcome.failure`. `ProcessEnded`
        if it had ended after an earlier batch.
        """
        self.batches += 1
        self.can_run = False
        with _in_memory() as request, _in_memory() as answer:
            request.write(task)
            request.seek(0)
            said = self._exchange([request.fileno(), answer.fileno()], timeout_s, is_wanted)
            if said:
                self.can_run = said == _AGAIN
                answer.seek(0)
                return answer.read()
        if said is None:
            return _failed(f"timeout: no answer in {timeout_s:g} s")
        code = self._process.wait()
        if code == _IDLE_CODE and self.batches > 1:
            raise ProcessEnded
        return _failed(f"crash: worker ended with exit code {code}")

    def _exchange(self, files: list[int], timeout_s: float, is_wanted: Callable[[], bool]) -> bytes | None:
        """Send `files`. Return what the process says, nothing if it ended, None if nobody waits any longer."""
        last = time.monotonic() + timeout_s
        try:
            socket.send_fds(self._socket, [_AGAIN], files)
            while not _is_readable(self._socket, max(0.0, min(_LOOK_S, last - time.monotonic()))):
                if time.monotonic() >= last or not is_wanted():
                    return None
            return self._socket.recv(1)
        except (BrokenPipeError, ConnectionResetError):
            return b""

    def stop(self) -> None:
        """End the process, and the processes that its batch has started."""
        self.can_run = False
        self._end()


def run_isolated(task: bytes, timeout_s: float) -> bytes:
    """Run the pickled (function, batch) of `task` in a new process; return the packed (value, failure or None).

    Failures are worded as in `Outcome.failure`.
    """
    process = IsolatedProcess({})
    try:
        return process.run(task, timeout_s, lambda: True)
    finally:
        process.stop()


def _end(process: subprocess.Popen[bytes], channel: socket.socket) -> None:
    channel.close()
    # Kill the whole session before the process is reaped: until then no other process can have its id.
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _in_memory() -> IO[bytes]:
    """Return a file in memory. Whoever has its descriptor has the same place in it."""
    return os.fdopen(os.memfd_create("megacpp-batch"), "w+b")


def _is_readable(channel: socket.socket, seconds: float) -> bool:
    """Wait for data or the end of `channel`. `select.select` would reject descriptors above 1,023."""
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _failed(reason: str) -> bytes:
    return pack((None, reason))


def _serve(channel: socket.socket, parent: int, idle_s: float) -> None:
    """Run in the new interpreter: answer one task after another, until none comes for `idle_s` seconds."""
    die_with_parent(parent)
    folder, limits = os.getcwd(), {what: resource.getrlimit(what) for what in _RESOURCES}
    while _is_readable(channel, idle_s):
        said, files, _, _ = socket.recv_fds(channel, 1, 2)
        if not said:
            break
        with os.fdopen(files[0], "rb") as request, os.fdopen(files[1], "wb") as stream:
            answer = _answer(request.read())
            goes_on = _is_restored(folder, limits)  # first, as a batch may limit the size of files
            stream.write(answer)
        channel.sendall(_AGAIN if goes_on else _LAST)
        if not goes_on:
            break
    # Skip the exit handlers of native libraries that batches have loaded: the work is done.
    os._exit(_IDLE_CODE)


def _answer(task: bytes) -> bytes:
    try:
        function, batch = pickle.loads(task)  # noqa: S301 - written by our own client, as multiprocessing would
        return pack((function(batch), None))
    except Exception as error:  # noqa: BLE001 - the boundary that records a failed batch
        reason = f"error: {type(error).__name__}: {error}"
    return _failed(reason)  # after the exception is gone, which may hold all the memory that the batch was allowed


def _is_restored(folder: str, limits: Mapping[int, tuple[int, int]]) -> bool:
    """Return whether the working directory and the limits of this process are again those that are given."""
    try:
        os.chdir(folder)
        allow_all()
        for what, limit in limits.items():
            resource.setrlimit(what, limit)
    except (OSError, ValueError):  # the folder is gone, or a hard limit was lowered
        return False
    return True


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3]))
