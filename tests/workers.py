"""What became of a test worker that ended by itself: xdist says only that it is gone, not of which signal.

A plug-in of pytest, and the limits of the worker, which no test may leave behind for those after it.
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
def _limits_stay() -> Iterator[None]:
    """A limit left on the worker would end it in another test, which would be blamed."""
    before = {name: resource.getrlimit(number) for name, number in _LIMITS.items()}
    yield
    after = {name: resource.getrlimit(number) for name, number in _LIMITS.items()}
    assert after == before, "the test left limits on the process of the tests"
