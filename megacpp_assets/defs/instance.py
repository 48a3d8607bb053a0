"""The Dagster instance of a data root: everything Dagster writes lies in `<root>/dagster`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from sqlalchemy.exc import DBAPIError

from megacpp_assets.contract.errors import DiskFailure, EnvironmentLacks
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.layout import DATA_ROOT_VARIABLE

HOME_DIRECTORY = "dagster"
CHECKOUT = Path(__file__).resolve().parent.parent.parent


def prepare_home(root: Path) -> Path:
    """`<root>/dagster` with the checkout's `dagster.yaml`, and the environment that Dagster reads set to it."""
    home = root / HOME_DIRECTORY
    template = CHECKOUT / "dagster.yaml"
    if not template.is_file():
        raise EnvironmentLacks("dagster.yaml", expected=str(template), found="none", do="run from a checkout")
    config = home / "dagster.yaml"
    if not config.is_file() or config.read_bytes() != template.read_bytes():
        write_atomic(config, template.read_bytes())
    os.environ["DAGSTER_HOME"] = str(home)
    os.environ[DATA_ROOT_VARIABLE] = str(root)
    return home


@contextmanager
def open_instance(root: Path) -> Iterator[dg.DagsterInstance]:
    """The instance of `root`; `DiskFailure` where its database cannot be written or read."""
    home = prepare_home(root)
    try:
        with dg.DagsterInstance.from_config(str(home)) as instance:
            yield instance
    except DBAPIError as error:
        do = "free room or repair its disk and run the same command again; dagster/ may be removed: a run records anew"
        raise DiskFailure(f"{home}", expected="a database to write", found=str(error.orig), do=do) from error
