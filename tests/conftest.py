"""Settings for every test."""

from __future__ import annotations

import gc
import os
import signal
import sys

import pytest

from tests import migrations, new_databases
from tests.examples import ignore_loaded_modules, register_profiles
from tests.shared_lines import own_line, reported_line, small_line
from tests.skipped import pytest_terminal_summary
from tests.warm import fork_workers
from tests.workers import nothing_stays, pytest_testnodedown

__all__ = [
    "nothing_stays",
    "own_line",
    "pytest_terminal_summary",
    "pytest_testnodedown",
    "reported_line",
    "small_line",
]

_LONGEST = (
    "tests/pipeline/test_line.py",
    "tests/ui/",
    "tests/pipeline/",
    "tests/reports/test_build.py",
    "tests/launch/job/",
    "tests/defs/",
    "tests/cli/",
    "tests/training/",
    "tests/trained/",
    "tests/semantic/test_",
)
"""Files that take longest, the longest first: no worker is left alone with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first."""
    items.sort(key=lambda item: next((i for i, name in enumerate(_LONGEST) if item.nodeid.startswith(name)), 99))


class _Searches:
    """Python searches all objects for cycles, again and again. What stays until the end is left out of it.

    That is what was collected, and the modules that tests import later: torch, Dagster and Megatron are a million
    objects. A search would take up to a second.
    """

    def __init__(self) -> None:
        self._modules = 0

    def pytest_collection_finish(self) -> None:
        self._leave_out()
        gc.enable()

    def pytest_runtest_setup(self) -> None:
        if len(sys.modules) > self._modules + 200:
            gc.collect()
            self._leave_out()

    def _leave_out(self) -> None:
        gc.freeze()
        self._modules = len(sys.modules)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Searches())
    config.pluginmanager.register(migrations)
    config.pluginmanager.register(new_databases)


# Collecting makes millions of objects and no garbage: searching them for cycles takes half of its time.
gc.disable()
# The tests themselves run in parallel. Each worker process of a stage would only add the CPU time of its imports.
os.environ.setdefault("MEGACPP_WORKERS", "1")
register_profiles()
ignore_loaded_modules()
fork_workers()

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
