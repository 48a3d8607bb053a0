"""The benchmarks are programs in a folder of their own, whose modules their tests import by name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))


@pytest.fixture
def one_core() -> Iterator[None]:
    """This process held to one core, as a benchmark is, until the test ends."""
    import _cores

    environment, cores = dict(os.environ), _cores.held()
    _cores.hold(_cores.choose(1))
    yield
    _cores.hold(sorted(cores))
    os.environ.clear()
    os.environ.update(environment)
