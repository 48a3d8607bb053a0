"""A child process that runs one task after another. Both processes exchange JSON lines over a socket pair.

A task goes in as a JSON object. The answers are any number of `{"progress": [done, total]}` and one `{"result": …}` or
`{"error": [class name, parts of its text]}`. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from megacpp_assets.compute.lifetime import die_with_parent
from megacpp_assets.contract import errors
from megacpp_assets.contract.errors import disk_failure
from megacpp_assets.contract.extras import MissingExtra, missing_extra
from megacpp_assets.contract.step import Progress

Message = Mapping[str, Any]
Handle = Callable[[Message, Progress], Any]
"""(task, progress callback) -> JSON-able result. It may raise."""

GRACE_SECONDS: Final = 40
"""How long a worker may take to end when it is asked to: a training saves a checkpoint first."""
_PROGRESS_SECONDS: Final = 0.1
_RECEIVE_BYTES: Final = 1 << 16
_ALLOCATION: Final = {"MIMALLOC_ARENA_EAGER_COMMIT": "0"}
"""Arrow's allocator would commit memory in huge pages before it is used: 0.7 CPU seconds and 80 MB of a short task."""


class WorkerProcess:
    """A process `python -m MODULE`, where MODULE calls `serve`. It dies with this process."""

    def __init__(self, module: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
                env={**_ALLOCATION, **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C reaches only the parent, which stops its workers in order
            )
        self._socket = ours
        self._received = b""

    def fileno(self) -> int:
        """Return the descriptor that is readable when a message has arrived or the process has ended."""
        return self._socket.fileno()

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def send(self, task: Message) -> None:
        """Send a task. If the process has ended, `receive` raises, not this method."""
        try:
            self._socket.sendall(json.dumps(task).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            return

    def receive(self) -> Iterator[Message]:
        """Yield the messages that have arrived. `EOFError` with the reason if the process has ended."""
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except ConnectionResetError:
            data = b""
        if not data:
            raise EOFError(_ending(self._process.wait()))
        *lines, self._received = (self._received + data).split(b"\n")
        yield from map(json.loads, lines)

    def ask_to_stop(self) -> None:
        """Ask the process to end. `stop` waits for its end."""
        if self._process.poll() is None:
            self._process.terminate()

    def stop(self, deadline: float = 0.0) -> None:
        """Wait for the process to end until the monotonic time `deadline`; then kill it and its children."""
        self.ask_to_stop()
        try:
            self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._socket.close()


def _has_descriptor(stream: Any) -> bool:
    """Return whether `stream` has a descriptor. The replacement of a test or an application may have none."""
    try:
        return isinstance(stream.fileno(), int)
    except (AttributeError, OSError, ValueError):
        return False


def _ending(code: int) -> str:
    if code >= 0:
        return f"worker process ended with exit code {code}"
    return f"worker process was ended by {signal.Signals(-code).name}" + (" (out of memory?)" if code == -9 else "")


def serve(handle: Handle) -> None:
    """Run the worker process: answer each task that arrives on the socket of the first command-line argument."""
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    die_with_parent(parent)
    signal.signal(signal.SIGTERM, _leave)
    with socket.socket(fileno=descriptor) as channel, channel.makefile("rb") as lines:
        # A child of a task must not inherit the channel, or the parent would wait for a worker that has ended.
        os.set_inheritable(descriptor, False)
        talk = _Channel(channel)
        for line in lines:
            talk.answer(_answer(handle, json.loads(line), talk.progress()))


def _leave(number: int, _frame: object) -> None:
    """End on the first request only: a second one must not interrupt the cleanup."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + signal.SIGTERM)


def _answer(handle: Handle, task: Message, progress: Progress) -> Message:
    try:
        return {"result": handle(task, progress)}
    except errors.MegacppError as error:
        return _failed(error)
    except OSError as error:
        return _failed(disk_failure(error))
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        return _failed(missing) if missing else _unexpected()
    except Exception:  # noqa: BLE001 - the boundary of a process: the parent raises it
        return _unexpected()


def _unexpected() -> Message:
    """Return the answer for an exception that nobody foresaw, called while it is handled."""
    return _failed(errors.WorkerDied(traceback.format_exc()))


def _failed(error: errors.MegacppError) -> Message:
    return {"error": [type(error).__name__, error.to_record()]}


class _Channel:
    """The worker's end of the channel. Threads may send at once; progress is sent at most ten times a second."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._last = 0.0
        self._answered = 0

    def answer(self, message: Message) -> None:
        """Send the answer to a task. What its threads report from now on is dropped."""
        with self._lock:
            self._answered += 1
            self._send(message)

    def progress(self) -> Progress:
        """Return the function by which the task that begins now reports its progress."""
        task = self._answered

        def report(done: int, total: int) -> None:
            with self._lock:
                now = time.monotonic()
                if task == self._answered and now - self._last >= _PROGRESS_SECONDS:
                    self._last = now
                    self._send({"progress": [done, total]})

        return report

    def _send(self, message: Message) -> None:
        self._channel.sendall(json.dumps(message).encode() + b"\n")


def raised(error: tuple[str, Mapping[str, str | None]]) -> errors.MegacppError:
    """Return the error of a worker's `{"error": …}` message."""
    name, record = error
    kind: type[errors.MegacppError] = errors.WorkerDied
    if name == MissingExtra.__name__:
        kind = MissingExtra
    elif hasattr(errors, name):
        kind = getattr(errors, name)
    return kind.from_record(record)
