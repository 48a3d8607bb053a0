"""Settings for every test."""

from __future__ import annotations

import signal

import pytest

from tests.examples import ignore_loaded_modules, register_profiles
from tests.skipped import pytest_terminal_summary
from tests.small_line import small_line
from tests.workers import nothing_stays, pytest_testnodedown

__all__ = ["nothing_stays", "pytest_terminal_summary", "pytest_testnodedown", "small_line"]

_LONGEST = ("tests/ui/", "tests/pipeline/")
"""What takes longest comes first, so that no worker is left alone with it at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONGEST))


register_profiles()
ignore_loaded_modules()

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
