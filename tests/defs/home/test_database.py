"""Dagster's database on a real Postgres server: who names it, where its password is, and what is said if it is down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterRun

from megacpp_assets.contract.errors import DatabaseUnreachable, SpecError
from megacpp_assets.defs.home.database import PASSWORD_FILE_VARIABLE, POSTGRES_VARIABLE, failures_named, postgres_url
from megacpp_assets.defs.home.event_log import event_log
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.showing.paths import home_of
from tests.postgres import ENCODED_PASSWORD, PASSWORD, Server, server

__all__ = ["server"]


@pytest.fixture
def address(server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database, with its password."""
    name = f"db_{abs(hash(request.node.name))}"
    yield server.create(name)  # with Dagster's tables
    if server.running():
        server.drop(name)


def _runs(root: Path) -> list[str]:
    with open_instance(root) as instance:
        return [run.job_name for run in instance.get_runs()]


def _record(root: Path, name: str) -> None:
    with open_instance(root) as instance:
        instance.add_run(DagsterRun(job_name=name))


def test_runs_are_kept_on_the_server_and_later_commands_find_it_without_the_variable(
    address: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, address)
    _record(tmp_path, "kept")
    assert not (tmp_path / "dagster" / "history").exists()
    monkeypatch.delenv(POSTGRES_VARIABLE)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert _runs(tmp_path) == ["kept"]
    database = address.rpartition("/")[2]
    assert server.ask(database, "SELECT count(*) FROM runs") == [(1,)]


def test_the_password_is_in_no_file_of_the_data_root_and_in_no_setting_of_the_instance(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, address)
    _record(tmp_path, "kept")
    with open_instance(tmp_path) as instance:
        descriptions = [repr(instance.get_ref()), str(instance.get_ref().to_dict()), instance.info_str()]
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert (home_of(tmp_path) / "postgres").read_text() == f"{address.replace(f':{ENCODED_PASSWORD}', '')}\n"
    assert not [text for text in (*written, *descriptions) if PASSWORD in text or ENCODED_PASSWORD in text]


def test_the_password_may_be_in_a_file_that_others_cannot_read(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{PASSWORD}\n")
    secret.chmod(0o640)
    monkeypatch.setenv(POSTGRES_VARIABLE, address.replace(f":{ENCODED_PASSWORD}", ""))
    monkeypatch.setenv(PASSWORD_FILE_VARIABLE, str(secret))
    assert _runs(tmp_path / "data") == []
    secret.chmod(0o644)
    with pytest.raises(SpecError, match=r"secret; expected no rights of others; .*what to do: chmod o-r "):
        postgres_url(tmp_path / "data")
    secret.unlink()
    with pytest.raises(SpecError, match=f"{PASSWORD_FILE_VARIABLE}; expected a file; found .*No such file"):
        postgres_url(tmp_path / "data")


def test_another_server_than_the_data_roots_own_is_rejected(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, address)
    _record(tmp_path, "kept")
    monkeypatch.setenv(POSTGRES_VARIABLE, address.replace("127.0.0.1", "localhost"))
    with pytest.raises(SpecError, match=r"expected the server of this data root, .*127.0.0.1.*; found .*localhost"):
        _runs(tmp_path)


@pytest.mark.parametrize("text", ["mysql://me@host/db", "postgresql://me:secret@host", "postgresql:///db", "host/db"])
def test_a_malformed_address_is_rejected_without_its_password(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, text)
    with pytest.raises(SpecError, match=f"{POSTGRES_VARIABLE}; expected postgresql://HOST:PORT/DATABASE") as found:
        postgres_url(tmp_path)
    assert "secret" not in str(found.value)


def test_a_wrong_password_is_one_sentence(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, address.replace(ENCODED_PASSWORD, "wrong"))
    with pytest.raises(DatabaseUnreachable, match=r"expected a server that answers; found .*password authentication"):
        with event_log(tmp_path):
            pass


@pytest.mark.parametrize("when", ["before", pytest.param("meanwhile", marks=pytest.mark.campaign)])
def test_a_server_that_is_down_is_named_and_what_was_recorded_is_there_when_it_is_back(
    address: str, server: Server, tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, address)
    _record(tmp_path, "kept")
    said = r"^Dagster's database postgresql://…@127.0.0.1:\d+/db_\d+; expected a server that answers; found .*"
    with pytest.raises(DatabaseUnreachable, match=said + r"refused.*what to do: start the server"):
        if when == "before":
            server.stop("immediate")
        with open_instance(tmp_path) as instance:
            server.stop("immediate")
            instance.add_run(DagsterRun(job_name="lost"))
    with pytest.raises(DatabaseUnreachable, match=said), event_log(tmp_path):
        pass
    server.start()
    assert _runs(tmp_path) == ["kept"]


def test_a_statement_that_the_server_rejects_is_one_sentence(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, address)
    with pytest.raises(DatabaseUnreachable, match=r"found .*read-only transaction"), failures_named(tmp_path):
        with open_instance(tmp_path) as instance, instance.event_log_storage.index_connection() as connection:
            connection.exec_driver_sql("SET default_transaction_read_only = on")
            connection.exec_driver_sql("CREATE TABLE t (a int)")


def test_malformed_partitions_are_rejected_on_the_server_too(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, address)
    with open_instance(tmp_path) as instance, pytest.raises(SpecError, match="NAME@REF"):
        instance.add_dynamic_partitions("repo_ref__mine", ["../../etc/passwd"])
