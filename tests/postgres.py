"""Debian's real Postgres server, on loopback in a temporary folder, as a user without privileges."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg2
import pytest
from dagster_postgres import DagsterPostgresStorage

from megacpp_assets.contract.errors import EnvironmentLacks

PASSWORD = "correct horse/battery@staple"
ENCODED_PASSWORD = "correct%20horse%2Fbattery%40staple"
_USER = "postgres"
"""Debian's package makes it. The server refuses to run as root."""
_WAIT_SECONDS = 60
_MAINTENANCE = "postgres"
_TEMPLATE = "dagster_tables"


@dataclass(frozen=True, slots=True)
class Server:
    """A server whose databases are in `folder`. It may be stopped and started again."""

    folder: Path
    programs: Path
    port: int

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
        # The machine does not fail in a test, so nothing waits for its disk.
        self._control("start", "-o", f"{settings} -c fsync=off -c shared_buffers=16MB", "-l", str(self.folder / "log"))

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: open connections are cut. `immediate` is what a crash does."""
        self._control("stop", "-m", mode)

    def running(self) -> bool:
        """Return whether the server runs."""
        command = [str(self.programs / "pg_ctl"), "status", "-D", str(self.folder / "data")]
        return subprocess.run(command, check=False, capture_output=True, **_as_user()).returncode == 0

    def url(self, database: str, password: str = ENCODED_PASSWORD) -> str:
        """Return the address of a database, with the encoded password unless it is empty."""
        user = f"megacpp:{password}" if password else "megacpp"
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> str:
        """Create a database with Dagster's tables, which take two seconds to make, as a copy. Return its address."""
        if not self.ask(_MAINTENANCE, f"SELECT 1 FROM pg_database WHERE datname = '{_TEMPLATE}'"):
            self.ask(_MAINTENANCE, f"CREATE DATABASE {_TEMPLATE}")
            DagsterPostgresStorage(self.url(_TEMPLATE).replace("postgresql", "postgresql+psycopg2"))
        self.ask(_MAINTENANCE, f'CREATE DATABASE "{database}" TEMPLATE {_TEMPLATE}')
        return self.url(database)

    def drop(self, database: str) -> None:
        """Delete a database, even if somebody is connected."""
        self.ask(_MAINTENANCE, f'DROP DATABASE "{database}" WITH (FORCE)')

    def ask(self, database: str, query: str) -> list[tuple[object, ...]]:
        """Return the rows of a query."""
        connection = psycopg2.connect(self.url(database))
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(query)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    def _control(self, *arguments: str) -> None:
        program = [str(self.programs / "pg_ctl"), *arguments, "-w", "-t", str(_WAIT_SECONDS)]
        _run([*program, "-D", str(self.folder / "data")])


@contextmanager
def postgres() -> Iterator[Server]:
    """A new server, whose only user is `megacpp` with `PASSWORD`."""
    programs = _programs()
    # Not below pytest's folders, which are closed to other users; the path of a unix socket is short, too.
    with tempfile.TemporaryDirectory(prefix="megacpp-postgres-") as name:
        folder = Path(name)
        secret = folder / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (folder, secret):
                shutil.chown(path, _USER, _USER)
        initdb = [str(programs / "initdb"), "--no-sync", "--username=megacpp", f"--pwfile={secret}", "--encoding=UTF8"]
        _run([*initdb, "--auth=scram-sha-256", "--locale=C", "-D", str(folder / "data")])
        server = Server(folder, programs, _free_port())
        server.start()
        try:
            yield server
        finally:
            if server.running():
                server.stop("immediate")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server for the tests of one file."""
    with postgres() as running:
        yield running


def _programs() -> Path:
    """Return the folder of the newest installed server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    named = shutil.which("initdb")
    if not found and not named:
        do = "sudo apt-get install postgresql, as tools/system_packages.sh test does"
        raise EnvironmentLacks("Postgres", expected="its server, for these tests", found="no initdb", do=do)
    return found[-1].parent if found else Path(str(named)).resolve().parent


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **_as_user())
    assert done.returncode == 0, done.stdout.decode()


def _as_user() -> dict[str, object]:
    """Return the arguments of `subprocess.run` for a process without the privileges of root."""
    return {"user": _USER, "group": _USER, "extra_groups": []} if os.geteuid() == 0 else {}
