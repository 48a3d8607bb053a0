"""The small line up to its Megatron files, made once a test run for all workers, to be copied by who needs one.

A plug-in of pytest. `root` is read only: a test that changed it would change what the others see.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tests.pipeline.roots import run_small

MADE = "made"


@pytest.fixture(scope="session")
def small_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root that nobody may write to: take a copy, links as links."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "small-line"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / MADE).exists():
            run_small(shared / "data", ("--until", "megatron_bin_idx"))
            (shared / MADE).touch()
    return shared / "data"
