"""Where Dagster keeps runs, events and schedules: in SQLite below the data root, or on a Postgres server.

`MEGACPP_DAGSTER_POSTGRES` names the server. The data root then keeps its address without the password, so that no later
command records elsewhere. This module does not load Dagster.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from megacpp_assets.contract.errors import DatabaseUnreachable, DiskFailure, SpecError
from megacpp_assets.contract.extras import require
from megacpp_assets.defs.showing.paths import home_of
from megacpp_assets.storage.atomic import write_atomic

POSTGRES_VARIABLE: Final = "MEGACPP_DAGSTER_POSTGRES"
"""`postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE`."""
PASSWORD_FILE_VARIABLE: Final = "MEGACPP_DAGSTER_POSTGRES_PASSWORD_FILE"
"""A file whose first line is the password. Without it libpq looks in PGPASSWORD and ~/.pgpass."""
ADDRESS_FILE: Final = "postgres"
"""In Dagster's home: the address of the server, without the password."""
_DRIVER: Final = "postgresql+psycopg2"
"""The driver that dagster-postgres brings. SQLAlchemy 2.1 would take another one."""
_CONNECT_SECONDS: Final = 10
_SCHEMES: Final = ("postgresql", "postgres", _DRIVER)


def postgres_url(root: Path) -> URL | None:
    """Return the address of the server that holds Dagster's database of `root`, with its password; None for SQLite.

    `SpecError` for a malformed address, for another server than the one that the data root keeps, and for a password
    file that everybody may read. `MissingExtra` without the extra `postgres`.
    """
    asked, kept = os.environ.get(POSTGRES_VARIABLE, ""), _kept(root)
    if not asked and not kept:
        return None
    require("postgres")
    url = _parsed(asked or kept, POSTGRES_VARIABLE if asked else str(_address_file(root)))
    if kept and shown(url) != kept:
        do = f"correct the variable, or remove {_address_file(root)}: a run records what the new database lacks"
        raise SpecError(POSTGRES_VARIABLE, expected=f"the server of this data root, {kept}", found=shown(url), do=do)
    return url if url.password else url.set(password=_password_of_file())


def keep_address(root: Path) -> None:
    """Write the address of the Postgres server to the data root. It does nothing for SQLite, or if the file exists."""
    url = postgres_url(root)
    if url is not None and not _kept(root):
        write_atomic(_address_file(root), f"{shown(url)}\n".encode())


def shown(url: URL) -> str:
    """Return the address without its password, as a person writes it."""
    without_password = URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
    return str(without_password.render_as_string())


@contextmanager
def failures_named(root: Path) -> Iterator[None]:
    """Name errors of the database in the block: `DiskFailure` for SQLite, else `DatabaseUnreachable`."""
    url = postgres_url(root)
    if url is None:
        with _disk_failures_named(home_of(root)):
            yield
        return
    from dagster_postgres.utils import DagsterPostgresException

    try:
        # At once: dagster-postgres tries for twelve seconds, and so waits for a server that is started again meanwhile.
        connect(url).close()
        yield
    except (DBAPIError, DagsterPostgresException) as error:
        raise unreachable(url, error) from error


def connect(url: URL, settings: str = "") -> Connection:
    """Return a connection, which the caller closes. `settings` are options of the server for this connection."""
    arguments = {"connect_timeout": _CONNECT_SECONDS, **({"options": settings} if settings else {})}
    return create_engine(url, poolclass=NullPool, connect_args=arguments, isolation_level="AUTOCOMMIT").connect()


@contextmanager
def _disk_failures_named(home: Path) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        do = "free room or repair its disk and run the same command again; dagster/ may be removed: a run records anew"
        raise DiskFailure(f"{home}", expected="a database to write", found=str(error.orig), do=do) from error


def unreachable(url: URL, error: BaseException) -> DatabaseUnreachable:
    """Return the sentence for an error of the server or of its driver."""
    cause = error if isinstance(error, DBAPIError) else error.__cause__ or error
    found = str(cause.orig if isinstance(cause, DBAPIError) else cause).strip().splitlines()
    do = (
        f"start the server, or correct {POSTGRES_VARIABLE}, then run the same command again: complete steps stay, and "
        "what the database lacks is recorded then"
    )
    what = f"Dagster's database {shown(url)}"
    return DatabaseUnreachable(what, expected="a server that answers", found=" ".join(found), do=do)


def _parsed(text: str, where: str) -> URL:
    expected = "postgresql://HOST:PORT/DATABASE, with USER@ before the host"
    try:
        url = make_url(text)
    except ArgumentError:
        raise SpecError(where, expected=expected, found="no address that can be read", do=f"correct {where}") from None
    if url.drivername not in _SCHEMES or not url.database or not (url.host or url.query.get("host")):
        raise SpecError(where, expected=expected, found=repr(shown(url)), do=f"correct {where}")
    return url.set(drivername=_DRIVER)


def _password_of_file() -> str | None:
    name = os.environ.get(PASSWORD_FILE_VARIABLE)
    if not name:
        return None
    path = Path(name)
    try:
        readable, lines = stat.S_IMODE(path.stat().st_mode) & stat.S_IROTH, path.read_text().splitlines()
    except OSError as error:
        raise SpecError(
            PASSWORD_FILE_VARIABLE,
            expected="a file",
            found=f"{name}: {error.strerror}",
            do="correct the variable, or unset it",
        ) from error
    if readable:
        do = f"chmod o-r {name}"
        raise SpecError(f"{PASSWORD_FILE_VARIABLE} {name}", expected="no rights of others", found="all read it", do=do)
    if not lines:
        raise SpecError(
            f"{PASSWORD_FILE_VARIABLE} {name}",
            expected="a password in its first line",
            found="no line",
            do="write it there",
        )
    return lines[0]


def _kept(root: Path) -> str:
    try:
        return _address_file(root).read_text().strip()
    except FileNotFoundError:
        return ""


def _address_file(root: Path) -> Path:
    return home_of(root) / ADDRESS_FILE
