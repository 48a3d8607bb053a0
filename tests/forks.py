"""Forked processes of tests."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable


def forked(body: Callable[[], object]) -> int:
    """Run `body` in a forked process and return its id. Its exit code is the number that `body` returns, otherwise 0; 1
    after any error, which is printed. The process never returns into the test that it was forked from.
    """
    if child := os.fork():
        return child
    code = 1
    try:
        result = body()
        code = result if type(result) is int else 0  # True is no exit code
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)
