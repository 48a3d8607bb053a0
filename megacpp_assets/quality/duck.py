"""A DuckDB connection that can read parquet and do nothing else: no extensions, no Python variables, locked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb

from megacpp_assets.contract.errors import SchemaViolation

_GLOB = str.maketrans({"[": "[[]", "*": "[*]", "?": "[?]"})


@contextmanager
def connect(*directories: Path) -> Iterator[Connection]:
    """A hardened in-memory connection that may read below `directories` only."""
    with ExitStack() as held:
        handles = {directory: held.enter_context(_handle(directory)) for directory in directories}
        connection = held.enter_context(duckdb.connect(":memory:", config={"threads": 2}))
        for setting in (
            "SET python_enable_replacements=false",
            "SET autoinstall_known_extensions=false",
            "SET autoload_known_extensions=false",
            "SET memory_limit='2GB'",
            "SET TimeZone='UTC'",
        ):
            connection.execute(setting)
        connection.execute("SET allowed_directories=?", [list(handles.values())])
        connection.execute("SET enable_external_access=false")
        connection.execute("SET lock_configuration=true")
        yield Connection(connection, handles)


@contextmanager
def _handle(directory: Path) -> Iterator[str]:
    """A path of `directory` without characters of its name: DuckDB takes every path for a pattern."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


class Connection:
    """Queries over parquet files, with bound parameters; `SchemaViolation` where a file cannot be read as parquet."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, handles: Mapping[Path, str]) -> None:
        self._connection = connection
        self._handles = handles

    def view(self, name: str, files: list[Path]) -> None:
        """Make `files` (at least one) readable as table `name`; the name is ours, never data."""
        paths = ", ".join("'" + self._by_handle(file).replace("'", "''") + "'" for file in files)
        self._execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet([{paths}])")  # noqa: S608 - quoted above

    def scalar(self, sql: str, parameters: list[Any] | None = None) -> Any:
        """The single value of a query."""
        (row,) = self.rows(sql, parameters)
        return row[0]

    def rows(self, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self._execute(sql, parameters)

    def _execute(self, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql, parameters or []).fetchall()
        except (duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException) as error:
            reason = self._by_name(str(error).partition("\n")[0])
            do = "rerun the stage that made it"
            raise SchemaViolation("parquet under DuckDB", expected="readable files", found=reason, do=do) from error

    def _by_handle(self, file: Path) -> str:
        directory = next(known for known in self._handles if file.is_relative_to(known))
        return f"{self._handles[directory]}/{file.relative_to(directory)}".translate(_GLOB)

    def _by_name(self, words: str) -> str:
        for directory, handle in self._handles.items():
            words = words.replace(handle, str(directory))
        return words
