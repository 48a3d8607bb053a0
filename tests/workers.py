"""What became of a test worker that ended by itself: xdist says only that it is gone, not of which signal.

A plug-in of pytest, and a fixture for what no test may leave on the worker for those after it.
"""

from __future__ import annotations

import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

_LIMITS = {
    name: getattr(resource, f"RLIMIT_{name}") for name in ("AS", "CORE", "CPU", "DATA", "FSIZE", "NOFILE", "STACK")
}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Print how the process ended, if it was not asked to."""
    if error:
        with suppress(subprocess.TimeoutExpired):
            print(f"\n{node.gateway.id} {ending(node.gateway._io.popen.wait(5))}")


def ending(code: int) -> str:
    """An exit code in words."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """What a test left on the worker would strike in another one, which would be blamed.

    Signal handlers are put back: a command that runs in the process of a test takes them over, as it should. Limits
    are another's to put back: an error says so.
    """
    handlers, limits = [signal.getsignal(number) for number in _SIGNALS], _limits()
    yield
    for number, handler in zip(_SIGNALS, handlers, strict=True):
        signal.signal(number, handler)
    assert _limits() == limits, "the test left limits on the process of the tests"


def _limits() -> dict[str, tuple[int, int]]:
    return {name: resource.getrlimit(number) for name, number in _LIMITS.items()}
