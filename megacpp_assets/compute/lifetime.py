"""How long a child process lives: never longer than the process that started it."""

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
def undisturbed() -> Iterator[None]:
    """A request to end this process that comes inside the block is heard when the block is over.

    For what libraries of others do halfway badly, such as a write to a database.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    heard: list[int] = []
    earlier = [signal.signal(number, lambda number, _frame: heard.append(number)) for number in _ENDINGS]
    try:
        yield
    finally:
        for number, handler in zip(_ENDINGS, earlier, strict=True):
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """A request to end this process that comes inside the block ends it by `KeyboardInterrupt` with its number.

    For libraries of others that take what a signal's handler raised for an error of their own, or go on after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    heard: list[int] = []
    earlier = {number: signal.getsignal(number) for number in _ENDINGS}

    def end(number: int, _frame: object) -> None:
        heard.append(number)
        raise KeyboardInterrupt(number)

    for number in _ENDINGS:
        signal.signal(number, end)
    try:
        yield
    except BaseException as error:
        if heard and error.args != (heard[0],):
            raise KeyboardInterrupt(heard[0]) from error
        raise
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
    if heard:
        raise KeyboardInterrupt(heard[0])


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes and threads that are started inside the block never hear Ctrl-C, not even before their first line.

    A terminal sends it to every process of the foreground; this one decides what becomes of those that it started.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def die_with_parent(parent: int | None = None, number: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send this process `number` when its parent ends, even by SIGKILL.

    Leaves at once if the process `parent`, which started this one, ended before it could ask.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if parent not in (None, os.getppid()):
        os._exit(1)
