"""Workers and trainings of the process of a test, forked from one process that has imported what they need.

A new interpreter imports for one to four CPU seconds what the work of most tests uses for tenths of one. The forked
process is one of its own all the same, with arguments, environment, descriptors and exit code as asked for. A command
that a test starts as a process of its own starts new interpreters, as a user's does.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import IO, Any, Final

from megacpp_assets.compute import worker_process
from megacpp_assets.training.processes import training_processes
from megacpp_assets.training.processes.numerics import numerics

_WORKER, _TRAINER = "megacpp_assets.pipeline.worker", "megacpp_assets.training.trainer"
_IMPORTED: Final = (
    *(f"megacpp_assets.{folder}.stage" for folder in ("repos", "curation", "semantic", "tokenizer", "tokenized")),
    *(f"megacpp_assets.{folder}.stage" for folder in ("enriched", "packed", "megatron", "trained")),
    *(f"megacpp_assets.quality.{folder}" for folder in ("repos", "curation", "semantic", "tokenizer", "tokenized")),
    *(f"megacpp_assets.quality.{folder}" for folder in ("enriched", "packed", "megatron", "trained")),
    "megacpp_assets.training.loop",
    _WORKER,
    _TRAINER,
)
_READ_WHEN_USED: Final = ("COLUMNS", "DAGSTER_HOME", "HOME", "PWD", "PYTEST_CURRENT_TEST", "PYTHONPATH")
"""Variables that what was imported has not looked at, beside those of the product. The path is compared by itself."""
_ENVIRONMENT: Final = {**worker_process._ALLOCATION, **os.environ}
_LIMITS: Final = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
_MOST_BYTES: Final = 1 << 17
_ABOVE_ALL: Final = 500
"""Descriptors from here on are used by nothing else."""


class ForkedProcess:
    """What is used of `subprocess.Popen`, for a process that the server has forked."""

    def __init__(self, server: socket.socket) -> None:
        self.pid = int(server.recv(64))
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """The exit code, or None while the process runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code; `subprocess.TimeoutExpired` after `timeout` seconds."""
        if self.returncode is None:
            self._server.settimeout(None if timeout is None else max(timeout, 0.001))
            try:
                self.returncode = int(self._server.recv(64) or -signal.SIGKILL)
            except TimeoutError:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0) from None
            self._server.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send the signal to the process, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end, if it runs."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process, if it runs."""
        self.send_signal(signal.SIGKILL)


def fork_workers() -> None:
    """From now on, runs in this process have forked workers, and they and this process have forked trainings."""
    worker_process.subprocess = _subprocess  # type: ignore[assignment, attr-defined, unused-ignore]
    training_processes.subprocess = _subprocess  # type: ignore[assignment, attr-defined, unused-ignore]


@dataclass(slots=True)
class _Server:
    """The address of the server, once there is one, and what it has of the process that started it.

    The processes that it has forked know it too, and that they were.
    """

    address: str = ""
    state: tuple[object, ...] = ()
    forked: bool = False


_SERVER: Final = _Server()


def _popen(command: Sequence[str], **options: Any) -> ForkedProcess | subprocess.Popen[bytes]:
    environment = {**worker_process._ALLOCATION, **(options.get("env") or os.environ)}
    # A training that a test starts itself finds modules where the test does.
    given = "env" in options or _SERVER.forked
    path = environment.get("PYTHONPATH", "") if given else os.pathsep.join(filter(None, sys.path))
    changed = {name for name, _ in _ENVIRONMENT.items() ^ environment.items() if not name.startswith("MEGACPP_")}
    if not _SERVER.address and command[2] in (_WORKER, _TRAINER):
        _start_server(path)
    same = not changed.difference(_READ_WHEN_USED) and _SERVER.state == _inherited(path)
    if command[2] in (_WORKER, _TRAINER) and same:
        return _forked(list(command[2:]), **{**options, "env": environment | {"PYTHONPATH": path}})
    return subprocess.Popen(command, **options)


def _inherited(path: str) -> tuple[object, ...]:
    """What a process has of the one that starts it, beside its variables."""
    return path, os.sched_getaffinity(0), *map(resource.getrlimit, _LIMITS)


_subprocess = SimpleNamespace(
    Popen=_popen, DEVNULL=subprocess.DEVNULL, STDOUT=subprocess.STDOUT, TimeoutExpired=subprocess.TimeoutExpired
)


def _start_server(path: str) -> None:
    """Start the process that forks. It ends with this one."""
    _SERVER.address, _SERVER.state = f"\0megacpp-tests-{os.getpid()}", _inherited(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(_SERVER.address)
        listening.listen()
        command = f"from {__name__} import serve; serve({_SERVER.address!r}, {listening.fileno()}, {os.getpid()})"
        environment = {**_ENVIRONMENT, "PYTHONPATH": path}
        subprocess.Popen([sys.executable, "-c", command], env=environment, pass_fds=[listening.fileno()])


def _forked(
    words: list[str],
    *,
    env: dict[str, str],
    stdin: int,
    stdout: int | IO[bytes],
    stderr: int = 2,
    pass_fds: Sequence[int] = (),
    start_new_session: bool = False,
) -> ForkedProcess:
    request = {
        "words": words,
        "environment": env,
        "folder": os.getcwd(),
        "descriptors": list(pass_fds),
        "parent": os.getpid(),
        "session": start_new_session,
    }
    assert stdin == subprocess.DEVNULL
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(_SERVER.address)
    with open(os.devnull, "r+b") as nothing:
        out = (
            nothing.fileno() if stdout == subprocess.DEVNULL else stdout if isinstance(stdout, int) else stdout.fileno()
        )
        error = out if stderr == subprocess.STDOUT else stderr
        socket.send_fds(channel, [json.dumps(request).encode()], [nothing.fileno(), out, error, *pass_fds])
    return ForkedProcess(channel)


def serve(address: str, descriptor: int, parent: int) -> None:
    """Fork a process for each connection, whose number and at last whose exit code go back on it."""
    # Not `die_with_parent`: the kernel would take the thread of the parent that has started this process for it.
    ended = os.pidfd_open(parent)
    _SERVER.address, _SERVER.state, _SERVER.forked = address, _inherited(os.environ["PYTHONPATH"]), True
    fork_workers()
    os.environ.update(numerics(threads=1))  # torch reads them when it is imported
    for name in _IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as listening, selectors.DefaultSelector() as selector:
        selector.register(listening, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == ended:
                    return
                if key.data is None:
                    _fork(listening.accept()[0], selector)
                else:
                    selector.unregister(key.fileobj)
                    os.close(key.fd)
                    _report(*key.data)


def _fork(channel: socket.socket, selector: selectors.BaseSelector) -> None:
    message, sent, _, _ = socket.recv_fds(channel, _MOST_BYTES, 16)
    process = os.fork()
    if process == 0:
        _become(json.loads(message), sent)
    for number in sent:
        os.close(number)
    channel.send(str(process).encode())
    selector.register(os.pidfd_open(process), selectors.EVENT_READ, (process, channel))


def _report(process: int, channel: socket.socket) -> None:
    _, status = os.waitpid(process, 0)
    with channel:
        try:
            channel.send(str(os.waitstatus_to_exitcode(status)).encode())
        except (BrokenPipeError, ConnectionResetError):
            return  # nobody waits for it


def _become(request: Mapping[str, Any], sent: Sequence[int]) -> None:
    """Be in the forked process what `python -m` would be with these words."""
    code = 1
    try:
        if request["session"]:
            os.setsid()
        above = [os.dup2(number, _ABOVE_ALL + place) for place, number in enumerate(sent)]
        os.closerange(3, _ABOVE_ALL)
        for number, wanted in zip(above, (0, 1, 2, *request["descriptors"]), strict=True):
            os.dup2(number, wanted)
            os.close(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        tempfile.tempdir = None
        # The request names the process that asked. The parent is the server, which ends when that process does.
        own, parent = str(request["parent"]), str(os.getppid())
        sys.argv = [parent if word == own else word for word in request["words"]]
        sys.modules.pop(sys.argv[0])
        code = _run(sys.argv[0])
    finally:
        os._exit(code)


def _run(module: str) -> int:
    """The exit code of the module, after all that an interpreter does when it ends."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except Exception:  # noqa: BLE001 - as an interpreter does
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code
