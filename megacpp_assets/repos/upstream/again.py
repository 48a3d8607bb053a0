"""Retries a question to a server if that can help: it was unreachable or busy, or the connection broke."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

from megacpp_assets.repos.git import GitFailed

WAITS_S: Final = (1.0, 4.0, 16.0)
"""Seconds before the second, third and fourth try."""
_PASSING: Final = re.compile(
    r"Could not resolve host|Failed to connect|Connection (?:refused|reset|timed out)|timed out|early EOF|hung up"
    r"|unexpected disconnect|unexpected eof|non-properly terminated|returned error: (?:429|5\d\d)"
)
"""Messages of git and its TLS libraries. Messages about a missing or closed repository are not among them."""


def asked_again(ask: Callable[[], bytes]) -> bytes:
    """Return what `ask` returns, after up to four tries. Raises the `GitFailed` of the last try, or of one that a
    retry cannot help.
    """
    for wait in WAITS_S:
        try:
            return ask()
        except GitFailed as error:
            if not _PASSING.search(str(error)):
                raise
        time.sleep(wait)
    return ask()
