"""Asking a server again where that can help: it was not reached, was busy, or the connection broke off."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

from megacpp_assets.repos.git import GitFailed

WAITS_S: Final = (1.0, 4.0, 16.0)
"""Before the second, third and fourth try."""
_PASSING: Final = re.compile(
    r"Could not resolve host|Failed to connect|Connection (?:refused|reset|timed out)|timed out|early EOF|hung up"
    r"|unexpected disconnect|unexpected eof|non-properly terminated|returned error: (?:429|5\d\d)"
)
"""Git's words, and those of its TLS libraries. They say nothing of a repository that is not there, or is closed."""


def asked_again(ask: Callable[[], bytes]) -> bytes:
    """What `ask` gives, after up to four tries. `GitFailed` of the last one, or of one that another would not help."""
    for wait in WAITS_S:
        try:
            return ask()
        except GitFailed as error:
            if not _PASSING.search(str(error)):
                raise
        time.sleep(wait)
    return ask()
