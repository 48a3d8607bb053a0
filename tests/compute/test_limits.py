"""A process that has limited itself is stopped at each of its limits, and so is what it starts."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile

import pytest

from megacpp_assets.compute.executors.answers import unpack
from megacpp_assets.compute.executors.isolated import run_isolated
from megacpp_assets.compute.limits import allow, limit_files, limit_memory


def _spend(what: str) -> object:
    limit_memory(1 << 30)
    limit_files(1000)
    allow(cpu_s=1, wall_s=100)
    if what == "memory":
        return len(bytearray(2 << 30))
    if what == "child":
        return subprocess.run([sys.executable, "-c", "while True: pass"], check=False).returncode
    if what == "file":
        with tempfile.TemporaryFile() as file:
            return subprocess.run(["head", "-c", "2000", "/dev/zero"], stdout=file, check=False).returncode
    while True:
        pass


@pytest.mark.parametrize(
    ("what", "end"),
    [
        ("memory", (None, "error: MemoryError: ")),
        ("time", (None, "crash: worker ended with exit code -24")),
        ("child", (-24, None)),
        ("file", (-25, None)),
    ],
)
def test_work_over_a_limit_is_ended(what: str, end: tuple[object, object]) -> None:
    assert unpack(run_isolated(pickle.dumps((_spend, what)), 60)) == end
