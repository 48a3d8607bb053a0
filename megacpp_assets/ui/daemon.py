"""Dagster's daemon, which looks after backfills every few seconds instead of every 30, for which Dagster has no
setting.

A backfill over complete partitions takes three looks: at what it asks for, at its runs, and at their end.
"""

from __future__ import annotations

from typing import Final

from dagster._daemon import controller
from dagster._daemon.cli import main

BACKFILL_SECONDS: Final = 3


if __name__ == "__main__":
    controller.DEFAULT_DAEMON_INTERVAL_SECONDS = BACKFILL_SECONDS
    main()
