"""Settings for every test: hypothesis draws the same examples each time and is not judged by a busy machine's clock."""

from __future__ import annotations

import signal

from hypothesis import settings

from tests.skipped import pytest_terminal_summary
from tests.small_line import small_line
from tests.workers import nothing_stays, pytest_testnodedown

__all__ = ["nothing_stays", "pytest_terminal_summary", "pytest_testnodedown", "small_line"]

settings.register_profile("megacpp", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("megacpp")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
