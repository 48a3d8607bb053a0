"""Dagster's daemon, which looks after backfills every few seconds; Dagster has no setting for its 30.

A backfill over complete partitions is three looks long: at what it asks for, at its runs, at their end.
"""

from __future__ import annotations

from typing import Final

from dagster._daemon import controller
from dagster._daemon.cli import main

BACKFILL_SECONDS: Final = 3


if __name__ == "__main__":
    controller.DEFAULT_DAEMON_INTERVAL_SECONDS = BACKFILL_SECONDS
    main()
