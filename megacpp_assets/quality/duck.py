"""A DuckDB connection that can read parquet and do nothing else: no extensions, no Python variables, locked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

_GLOB = str.maketrans({"[": "[[]", "*": "[*]", "?": "[?]"})


@contextmanager
def connect(*directories: Path) -> Iterator[Connection]:
    """A hardened in-memory connection that may read below `directories` only."""
    connection = duckdb.connect(":memory:", config={"threads": 2})
    try:
        for setting in (
            "SET python_enable_replacements=false",
            "SET autoinstall_known_extensions=false",
            "SET autoload_known_extensions=false",
            "SET memory_limit='2GB'",
            "SET TimeZone='UTC'",
        ):
            connection.execute(setting)
        connection.execute("SET allowed_directories=?", [[str(directory) for directory in directories]])
        connection.execute("SET enable_external_access=false")
        connection.execute("SET lock_configuration=true")
        yield Connection(connection)
    finally:
        connection.close()


class Connection:
    """Queries over parquet files, with bound parameters."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def view(self, name: str, files: list[Path]) -> None:
        """Make `files` (at least one) readable as table `name`; the name is ours, never data."""
        paths = ", ".join("'" + str(file).translate(_GLOB).replace("'", "''") + "'" for file in files)
        self._connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet([{paths}])")  # noqa: S608 - quoted above

    def scalar(self, sql: str, parameters: list[Any] | None = None) -> Any:
        """The single value of a query."""
        row = self._connection.execute(sql, parameters or []).fetchone()
        assert row is not None
        return row[0]

    def rows(self, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self._connection.execute(sql, parameters or []).fetchall()
