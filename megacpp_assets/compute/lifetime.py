"""Signals and lifetimes: a child process never outlives the process that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PR_SET_PDEATHSIG = 1
_ENDINGS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Deliver SIGINT and SIGTERM that arrive inside the block when the block has ended.

    Use it for library calls that must not stop halfway, such as a write to a database.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    received: list[int] = []
    earlier = [signal.signal(number, lambda number, _frame: received.append(number)) for number in _ENDINGS]
    try:
        yield
    finally:
        for number, handler in zip(_ENDINGS, earlier, strict=True):
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Leave the block by `KeyboardInterrupt` with the signal's number if SIGINT or SIGTERM arrives inside it.

    Use it around libraries that report a handler's exception as their own error, or continue after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    received: list[int] = []
    earlier = {number: signal.getsignal(number) for number in _ENDINGS}

    def end(number: int, _frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt(number)

    for number in _ENDINGS:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        if received:
            raise KeyboardInterrupt(received[0])


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C for processes and threads that start inside the block, from their first instruction on.

    A terminal sends Ctrl-C to every process of the foreground. This process alone decides how its children end.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def die_with_parent(parent: int | None = None, number: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send this process the signal `number` when its parent ends, for whatever reason.

    Exit at once if the process `parent` has already ended.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if parent not in (None, os.getppid()):
        os._exit(1)
