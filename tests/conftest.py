"""Settings for every test."""

from __future__ import annotations

import os
import signal

import pytest

from tests.examples import ignore_loaded_modules, register_profiles
from tests.shared_lines import own_line, small_line
from tests.skipped import pytest_terminal_summary
from tests.workers import nothing_stays, pytest_testnodedown

__all__ = ["nothing_stays", "own_line", "pytest_terminal_summary", "pytest_testnodedown", "small_line"]

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


# The tests themselves run in parallel. Each worker process of a stage would only add the CPU time of its imports.
os.environ.setdefault("MEGACPP_WORKERS", "1")
register_profiles()
ignore_loaded_modules()

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
