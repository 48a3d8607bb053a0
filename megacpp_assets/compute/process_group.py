"""Ends a program with all processes that it started."""

from __future__ import annotations

import os
import signal
import subprocess


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group of `process`, which leads it, wait for `process`, and close its pipes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
