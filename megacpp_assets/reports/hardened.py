"""DuckDB that reads and writes below one folder alone, loads no extension and stays within its memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.reports.place import FOLDER, database

MEMORY: Final = "2GB"
"""Beyond it DuckDB spills to the folder of the reports."""
SPILL: Final = "50GB"

_SETTINGS: Final = (
    "SET allow_community_extensions = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_persistent_secrets = false",
    "SET allow_extension_repositories = 'forbidden'",
    f"SET memory_limit = '{MEMORY}'",
    f"SET max_temp_directory_size = '{SPILL}'",
    "SET preserve_insertion_order = false",
    "SET TimeZone = 'UTC'",
)
_LOCKS: Final = ("SET enable_external_access = false", "SET lock_configuration = true")
"""In this order, last: no setting can be changed after them."""


def harden(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Shut `connection` in below `root`, for as long as its database is open; a second time changes nothing."""
    if connection.execute("SELECT current_setting('lock_configuration')").fetchall() == [(True,)]:
        return
    # A pattern is held against the folders as it is written, the files that it finds as they are called.
    allowed = ", ".join(literal(each) for each in sorted({str(root), pattern(root)}))
    spill = f"SET temp_directory = {literal(str(root / FOLDER / 'tmp'))}"
    for setting in (*_SETTINGS, spill, f"SET allowed_directories = [{allowed}]", *_LOCKS):
        connection.execute(setting)


@contextmanager
def open_database(root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database of the reports of `root`, hardened; `DiskFailure` where it cannot be opened or is in use."""
    place = database(root)
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = duckdb.connect(place)
    except duckdb.IOException as error:
        do = "wait for the process that has it open; a damaged file may be removed: it is made anew"
        raise DiskFailure(f"{place}", expected="a database to open", found=_line(error), do=do) from error
    with connection:
        harden(connection, root)
        yield connection


def literal(text: str) -> str:
    """`text` as a literal of SQL, for statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"


def pattern(path: Path) -> str:
    """The pattern that means the file `path` alone, whatever characters it is made of."""
    return "".join(f"[{character}]" if character in "[*?" else character for character in str(path))


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
