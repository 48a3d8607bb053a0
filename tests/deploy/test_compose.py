"""deploy/compose.yaml: nothing of it is open, no secret stands in it, and its commands together make a backfill.

There is no Docker in the tests. Its services run as processes of this machine, with the commands of the file, on a real
Postgres server.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from megacpp_assets.cli import cli
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.defs.home.database import PASSWORD_FILE_VARIABLE, POSTGRES_VARIABLE
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE
from megacpp_assets.ui.parts import write_workspace
from tests.postgres import ENCODED_PASSWORD, PASSWORD, Server, postgres
from tests.ui.kill_backfill import STAGES, launch, make_root, materializations, partitions, wait_for_end
from tests.ui.running import Ui, wait_for

HERE = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((HERE / "deploy" / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("code", "daemon", "web")
_PATIENCE = 120


def test_only_the_web_server_has_a_port_and_it_is_on_loopback() -> None:
    assert {name: service.get("ports", []) for name, service in SERVICES.items()} == {
        "postgres": [],
        "code": [],
        "daemon": [],
        "web": ["127.0.0.1:3000:3000"],
    }
    assert SERVICES["postgres"]["networks"] == ["database"] and COMPOSE["networks"]["database"]["internal"]


def test_no_password_is_in_it_and_containers_may_do_little() -> None:
    assert COMPOSE["secrets"] == {"postgres_password": {"environment": "MEGACPP_POSTGRES_PASSWORD"}}
    assert not [
        word for word in (HERE / "deploy" / "compose.yaml").read_text().split() if "@" in word and ":/" not in word
    ]
    for name in OURS:
        service = SERVICES[name]
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and "user" not in service, "the image's own user"
        assert service["environment"][POSTGRES_VARIABLE] == "postgresql://megacpp@postgres:5432/dagster"
        (secret,) = service["secrets"]
        assert (secret["uid"], secret["mode"]) == ("10001", 0o400)
        assert service["environment"][PASSWORD_FILE_VARIABLE] == f"/run/secrets/{secret['source']}"


@pytest.mark.parametrize("name", OURS)
def test_its_commands_are_commands_of_megacpp(name: str) -> None:
    program, *words = SERVICES[name]["command"]
    assert program == "megacpp"
    options = [word for word in words if word.startswith("--")]
    said = CliRunner().invoke(cli, [*words[:2], "--help"]).output
    assert all(option in said for option in options), said


@pytest.mark.parametrize("code", ["code", "code:", ":4000", "code:x", "code:0", "code:65536"])
def test_a_code_location_that_is_no_address_is_rejected(code: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"--code; expected HOST:PORT; found '{code}'"):
        write_workspace(tmp_path, code)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_its_services_together_make_a_backfill_on_postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    with postgres() as server, ExitStack() as services:
        address = server.create("dagster").replace(f":{ENCODED_PASSWORD}", "")
        monkeypatch.setenv(POSTGRES_VARIABLE, address)
        monkeypatch.setenv(PASSWORD_FILE_VARIABLE, str(secret))
        root, keys = make_root(tmp_path, 3), partitions(3)
        monkeypatch.setenv(DATA_ROOT_VARIABLE, str(root))
        ports = {"4000": str(_free_port()), "3000": str(_free_port())}
        running = {name: services.enter_context(_service(name, ports)) for name in OURS}
        ui = _opened(running["web"], int(ports["3000"]))
        wait_for(lambda: _locations(ui))
        assert wait_for_end(ui, launch(ui, keys), kills=0)[0] == "COMPLETED_SUCCESS"
        assert materializations(root) == Counter((stage, key) for stage in STAGES for key in keys)
        assert ui.ask("GET", "/", host="web:3000").status == 403
        assert _rows(server) == 1, "one run makes all partitions"


def _rows(server: Server) -> int:
    query = "SELECT count(*) FROM runs WHERE status = 'SUCCESS'"
    return int(str(server.ask("dagster", query)[0][0]))


def _locations(ui: Ui) -> bool:
    """Whether the web server has loaded the assets from the other process."""
    query = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }"
    return bool(ui.graphql(query)["repositoriesOrError"].get("nodes"))


@contextmanager
def _service(name: str, ports: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A service's command with addresses and ports of this machine."""
    words = [_here(word, ports) for word in SERVICES[name]["command"][1:]]
    with subprocess.Popen(_command(words), stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def _here(word: str, ports: dict[str, str]) -> str:
    for inside, free in ports.items():
        word = word.replace(inside, free)
    return word.replace("code:", "127.0.0.1:").replace("0.0.0.0", "127.0.0.1")


def _command(words: list[str]) -> list[str]:
    return [sys.executable, "-c", "from megacpp_assets.cli import main; main()", *words]


def _opened(web: subprocess.Popen[str], port: int) -> Ui:
    assert web.stdout is not None
    address = next(line for line in web.stdout if line.startswith("open ")).split()[1]
    token = address.partition("token=")[2]
    ui = Ui(web, port, token)
    ui.cookie = ui.ask("GET", f"/?token={token}", cookie=None).headers["set-cookie"].partition(";")[0]
    return ui


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
