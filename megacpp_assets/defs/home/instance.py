"""The Dagster instance of a data root: what Dagster writes is in `<root>/dagster`, or on the Postgres server that the
root names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from megacpp_assets.defs.home.database import failures_named, keep_address
from megacpp_assets.defs.showing.paths import home_of
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE, LOCK_FILE, data_root

HOME_VARIABLE = "DAGSTER_HOME"
SETTINGS = Path(__file__).with_name("dagster.yaml")


def served_root() -> Path:
    """Return the data root of a process that Dagster started.

    It is `MEGACPP_DATA_ROOT`, else the one whose home is `DAGSTER_HOME`, else `data` in the working directory.
    """
    home = Path(os.environ.get(HOME_VARIABLE, ""))
    if not os.environ.get(DATA_ROOT_VARIABLE) and home == home_of(home.parent) and (home.parent / LOCK_FILE).is_file():
        return data_root(str(home.parent))
    return data_root()


def prepare_home(root: Path) -> Path:
    """Write our settings to the home of `root`, and set the environment variables that Dagster reads."""
    home = home_of(root)
    config = home / SETTINGS.name
    settings = SETTINGS.read_bytes()
    if not config.is_file() or config.read_bytes() != settings:
        write_atomic(config, settings)
    keep_address(root)
    os.environ[HOME_VARIABLE] = str(home)
    os.environ[DATA_ROOT_VARIABLE] = str(root)
    return home


def warn_of_temporary_instance(root: Path) -> None:
    """Warn if Dagster found neither its home nor our settings: it would forget everything when the process ends."""
    if not os.environ.get(HOME_VARIABLE) and not Path(SETTINGS.name).is_file():
        do = f"export {HOME_VARIABLE}={home_of(root)}, which megacpp run makes"
        dg.get_dagster_logger().warning(f"{HOME_VARIABLE}; expected the data root's own; found none; what to do: {do}")


@contextmanager
def open_instance(root: Path) -> Iterator[dg.DagsterInstance]:
    """Open the instance of `root`. `DiskFailure` or `DatabaseUnreachable` if its database cannot be read or written."""
    home = prepare_home(root)
    with failures_named(root), dg.DagsterInstance.from_config(str(home)) as instance:
        yield instance
