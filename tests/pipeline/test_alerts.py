"""Alerts reach a real program and a real web server, and none of them can hold a run up."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import psutil
import pytest

from megacpp_assets.contract.errors import AlertUndelivered
from megacpp_assets.contract.recipe.alerts import AlertsRecipe
from megacpp_assets.pipeline.alerts import Alert, AlertKind, deliver
from tests.hooks import hook

ALERT = Alert(AlertKind.MOVED_TAG, "mine", "lib@v1.0", "lib@v1.0: moved upstream; “$(touch x)”")
FIELDS = {"kind": "moved_tag", "dataset": "mine", "subject": "lib@v1.0", "text": ALERT.text}


def test_a_command_reads_the_alert_and_a_server_gets_it(tmp_path: Path) -> None:
    file = tmp_path / "alert.json"
    program = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    with hook() as server:
        deliver(ALERT, AlertsRecipe((sys.executable, "-c", program, str(file)), server.url))
        assert server.got == [FIELDS]
    assert json.loads(file.read_text()) == FIELDS


def test_a_hook_that_fails_is_named_and_the_other_gets_the_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "")
    with hook() as server:
        failing = (sys.executable, "-c", "import sys; sys.exit('no disk')")
        with pytest.raises(AlertUndelivered, match=r"^alert moved_tag about lib@v1.0; .*code 0; found 1, no disk"):
            deliver(ALERT, AlertsRecipe(failing, server.url))
        assert len(server.got) == 1
        for status in (500, 302):
            server.status = status
            with pytest.raises(AlertUndelivered, match=f"expected an answer of 200 to 299; found {status}"):
                deliver(ALERT, AlertsRecipe(webhook=server.url))
    with pytest.raises(AlertUndelivered, match=r"webhook at 127.0.0.1; expected an answer; found .*refused"):
        deliver(ALERT, AlertsRecipe(webhook=server.url))
    with pytest.raises(AlertUndelivered, match=r"alerts.webhook \$HOOK; expected an address in that variable"):
        deliver(ALERT, AlertsRecipe(webhook="$HOOK"))
    with pytest.raises(AlertUndelivered, match=r"alerts.command no-such-program; expected a program; found No such"):
        deliver(ALERT, AlertsRecipe(("no-such-program",)))


def test_an_address_in_a_variable_stays_out_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    with hook() as server:
        monkeypatch.setenv("HOOK", f"{server.url}/secret?key=secret")
        deliver(ALERT, AlertsRecipe(webhook="$HOOK"))
        server.status = 403
        with pytest.raises(AlertUndelivered) as raised:
            deliver(ALERT, AlertsRecipe(webhook="$HOOK"))
    assert "secret" not in str(raised.value)


def test_a_server_that_dribbles_and_a_program_that_hangs_are_cut_off_in_time(tmp_path: Path) -> None:
    """The program starts another one, which ends too."""
    pid = tmp_path / "pid"
    with hook() as server:
        server.dribble_seconds = 60
        began = time.monotonic()
        with pytest.raises(AlertUndelivered, match="expected an answer within 1 s; found none"):
            deliver(ALERT, AlertsRecipe(webhook=server.url, seconds=1))
        assert time.monotonic() - began < 30
    hanging = ("/bin/sh", "-c", f"sleep 600 & echo $! > {pid}; wait")
    with pytest.raises(AlertUndelivered, match="expected an end within 1 s; found none"):
        deliver(ALERT, AlertsRecipe(hanging, seconds=1))
    child = int(pid.read_text())
    limit = time.monotonic() + 120  # it is killed when the error is raised; a busy machine ends it a little later
    while not has_ended(child) and time.monotonic() < limit:
        time.sleep(0.05)
    assert has_ended(child)


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
