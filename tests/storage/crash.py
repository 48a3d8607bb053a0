"""Killing a process at its Nth file operation: a forked child ends without unwinding, as by `kill -9`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from tests.forks import forked

FILE_EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree", "os.truncate"}
KILLED = 77


def run_killed_at(event: int, work: Callable[[], object]) -> bool:
    """Run `work` in a child that dies just before its file operation number `event`; False if it had no such one."""

    def killed() -> None:
        _die_at(event)
        work()

    _, status = os.waitpid(forked(killed), 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED), f"the child failed by itself with {code}"
    return code == KILLED


def _die_at(event: int) -> None:
    remaining = event

    def hook(name: str, _arguments: object) -> None:
        nonlocal remaining
        if name in FILE_EVENTS:
            remaining -= 1
            if remaining < 0:
                os._exit(KILLED)

    sys.addaudithook(hook)
