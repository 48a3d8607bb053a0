"""DuckDB that reads and writes below one folder only, loads no extension and has a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.reports.place import FOLDER, database

MEMORY: Final = "2GB"
"""Above this limit DuckDB writes temporary data to the folder of the reports."""
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
"""These come last and in this order: no setting can be changed after them."""


def harden(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Restrict `connection` to files below `root`, as long as its database is open. A second call changes nothing."""
    if connection.execute("SELECT current_setting('lock_configuration')").fetchall() == [(True,)]:
        return
    # DuckDB compares a pattern with the folders as written, and with the files as they are called.
    allowed = ", ".join(literal(each) for each in sorted({str(root), pattern(root)}))
    spill = f"SET temp_directory = {literal(str(root / FOLDER / 'tmp'))}"
    for setting in (*_SETTINGS, spill, f"SET allowed_directories = [{allowed}]", *_LOCKS):
        connection.execute(setting)


@contextmanager
def open_database(root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the restricted database of the reports of `root`. `DiskFailure` if it cannot be opened or is in use."""
    place = database(root)
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = duckdb.connect(place)
    except duckdb.IOException as error:
        do = "wait for the process that has it open; a damaged file may be removed: the next build writes it again"
        raise DiskFailure(f"{place}", expected="a database to open", found=_line(error), do=do) from error
    with connection:
        harden(connection, root)
        yield connection


def literal(text: str) -> str:
    """Return `text` as a literal of SQL, for statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"


def pattern(path: Path) -> str:
    """Return the pattern that matches the file `path` only, whatever characters it contains."""
    return "".join(f"[{character}]" if character in "[*?" else character for character in str(path))


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
