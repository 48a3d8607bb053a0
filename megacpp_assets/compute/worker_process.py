"""A child process that runs one task after another; both sides speak JSON lines over a socket pair of their own.

A task goes in as a JSON object. Out come any number of `{"progress": [done, total]}` and one `{"result": …}` or
`{"error": [class name, message]}`. Nothing is pickled.
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
from megacpp_assets.contract.disk import disk_failure
from megacpp_assets.contract.progress import Progress

Message = Mapping[str, Any]
Handle = Callable[[Message, Progress], Any]
"""(task, who hears its progress) -> its JSON-able result; may raise."""

GRACE_SECONDS: Final = 40
"""What a worker may take to end well when asked to stop: a training saves a checkpoint first."""
_PROGRESS_SECONDS: Final = 0.1
_RECEIVE_BYTES: Final = 1 << 16
_ALLOCATION: Final = {"MIMALLOC_ARENA_EAGER_COMMIT": "0"}
"""Arrow's allocator would take memory in huge pages ahead of any use: 0.7 CPU seconds of a short task, and 80 MB."""


class WorkerProcess:
    """An interpreter running `python -m MODULE`, where MODULE calls `serve`. It dies with this process."""

    def __init__(self, module: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
                env={**_ALLOCATION, **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C reaches the parent alone, which stops its workers in good order
            )
        self._socket = ours
        self._received = b""

    def fileno(self) -> int:
        """The descriptor that is readable when a message has come or the process has ended."""
        return self._socket.fileno()

    def send(self, task: Message) -> None:
        """Hand over a task. A process that has ended is noticed by `receive`, not here."""
        try:
            self._socket.sendall(json.dumps(task).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            return

    def receive(self) -> Iterator[Message]:
        """The messages that have come. `EOFError` with the reason if the process has ended."""
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except ConnectionResetError:
            data = b""
        if not data:
            raise EOFError(_ending(self._process.wait()))
        *lines, self._received = (self._received + data).split(b"\n")
        yield from map(json.loads, lines)

    def ask_to_stop(self) -> None:
        """Let what runs unwind; `stop` waits for it."""
        if self._process.poll() is None:
            self._process.terminate()

    def stop(self, deadline: float = 0.0) -> None:
        """End the process: well until the monotonic time `deadline`, by force then, with all that it started."""
        self.ask_to_stop()
        try:
            self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._socket.close()


def _has_descriptor(stream: Any) -> bool:
    """Whether `stream` is a real file: a test's or an application's replacement may have none."""
    try:
        return isinstance(stream.fileno(), int)
    except (AttributeError, OSError, ValueError):
        return False


def _ending(code: int) -> str:
    if code >= 0:
        return f"worker process ended with exit code {code}"
    return f"worker process was ended by {signal.Signals(-code).name}" + (" (out of memory?)" if code == -9 else "")


def serve(handle: Handle) -> None:
    """Be the worker process: answer each task of the socket whose descriptor is the first argument."""
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    die_with_parent(parent)
    signal.signal(signal.SIGTERM, _leave)
    with socket.socket(fileno=descriptor) as channel, channel.makefile("rb") as lines:
        # No child of a task may hold the channel open, or the parent would wait for a worker that is gone.
        os.set_inheritable(descriptor, False)
        talk = _Channel(channel)
        for line in lines:
            talk.say(_answer(handle, json.loads(line), talk.progress))


def _leave(number: int, _frame: object) -> None:
    """Once: asked again, what unwinds must not be cut short."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + signal.SIGTERM)


def _answer(handle: Handle, task: Message, progress: Progress) -> Message:
    try:
        return {"result": handle(task, progress)}
    except errors.MegacppError as error:
        return {"error": [type(error).__name__, str(error)]}
    except OSError as error:
        return {"error": [errors.DiskFailure.__name__, str(disk_failure(error))]}
    except Exception:  # noqa: BLE001 - the boundary of a process: the parent raises it
        return {"error": [errors.WorkerDied.__name__, traceback.format_exc()]}


class _Channel:
    """The worker's end: messages of several threads go out whole, progress at most ten times a second."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._last = 0.0

    def say(self, message: Message) -> None:
        with self._lock:
            self._channel.sendall(json.dumps(message).encode() + b"\n")

    def progress(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= _PROGRESS_SECONDS:
            self._last = now
            self.say({"progress": [done, total]})


def raised(error: tuple[str, str]) -> errors.MegacppError:
    """The error that a worker's `{"error": …}` message tells of."""
    kind = getattr(errors, error[0], errors.WorkerDied)
    return kind(error[1])  # type: ignore[no-any-return]
