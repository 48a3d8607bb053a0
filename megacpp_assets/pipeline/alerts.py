"""Tells the hooks of a recipe what went wrong: a program by its standard input, a web server by POST."""

from __future__ import annotations

import http.client
import os
import subprocess
import threading
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

import orjson

from megacpp_assets.compute.process_group import end_group
from megacpp_assets.contract.errors import AlertUndelivered, MegacppError
from megacpp_assets.contract.recipe.alerts import AlertsRecipe, require_webhook

_SHOWN: Final = 300
_OK: Final = range(200, 300)


class AlertKind(StrEnum):
    """What went wrong."""

    FAILED_RUN = "failed_run"
    REJECTED_RELEASE = "rejected_release"
    MOVED_TAG = "moved_tag"


@dataclass(frozen=True, slots=True)
class Alert:
    """One event. `subject` is the id of a run or a `NAME@REF`; `text` is one sentence."""

    kind: AlertKind
    dataset: str
    subject: str
    text: str

    def body(self) -> bytes:
        """Return the JSON that hooks get: these four fields."""
        return orjson.dumps(asdict(self))


def deliver(alert: Alert, recipe: AlertsRecipe) -> None:
    """Tell every hook of the recipe. `AlertUndelivered` names those that failed; the others got the alert.

    Each hook has at most `recipe.seconds`.
    """
    failures = []
    for hook in (_run_command if recipe.command else None, _post if recipe.webhook else None):
        try:
            if hook is not None:
                hook(alert, recipe)
        except MegacppError as error:
            failures.append(str(error))
    if failures:
        what = f"alert {alert.kind} about {alert.subject}"
        do = "correct [alerts] of the recipe or what it names; the alert is sent again at the next occasion"
        raise AlertUndelivered(what, expected="delivery to every hook", found="; ".join(failures), do=do)


def _run_command(alert: Alert, recipe: AlertsRecipe) -> None:
    name = recipe.command[0]
    try:
        # A group of its own, so that what the program has started ends with it.
        process = subprocess.Popen(
            recipe.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise AlertUndelivered(
            f"alerts.command {name}", expected="a program", found=error.strerror, do="correct [alerts] of the recipe"
        ) from error
    try:
        _, said = process.communicate(alert.body(), timeout=recipe.seconds)
    except subprocess.TimeoutExpired:
        raise AlertUndelivered(
            f"alerts.command {name}",
            expected=f"an end within {recipe.seconds} s",
            found="none",
            do="raise alerts.seconds, or make the program faster",
        ) from None
    finally:
        end_group(process)
    if process.returncode:
        found = f"{process.returncode}, {said.decode(errors='replace').strip()[-_SHOWN:]}"
        raise AlertUndelivered(
            f"alerts.command {name}", expected="exit code 0", found=found, do="see what the program printed"
        )


def _post(alert: Alert, recipe: AlertsRecipe) -> None:
    """Send the alert. A thread may wait for a server that sends a byte now and then; it is cut off in time."""
    url = _address(recipe.webhook)
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=recipe.seconds)
    target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    outcome: list[int | Exception] = []

    def ask() -> None:
        try:
            connection.request("POST", target, alert.body(), {"Content-Type": "application/json"})
            outcome.append(connection.getresponse().status)
        except (OSError, http.client.HTTPException) as error:
            outcome.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(recipe.seconds)
    connection.close()
    _require_accepted(outcome[0] if outcome else None, f"alerts.webhook at {parts.hostname}", recipe.seconds)


def _require_accepted(found: int | Exception | None, what: str, seconds: int) -> None:
    if found is None:
        raise AlertUndelivered(
            what,
            expected=f"an answer within {seconds} s",
            found="none",
            do="check the address, or raise alerts.seconds",
        )
    if isinstance(found, Exception):
        raise AlertUndelivered(
            what, expected="an answer", found=str(found) or type(found).__name__, do="check the address and the network"
        )
    if found not in _OK:
        raise AlertUndelivered(what, expected="an answer of 200 to 299", found=found, do="check the address")


def _address(webhook: str) -> str:
    """Return the URL, which an environment variable may hold."""
    if not webhook.startswith("$"):
        return webhook
    url = os.environ.get(webhook[1:], "")
    if not url:
        raise AlertUndelivered(
            f"alerts.webhook {webhook}",
            expected="an address in that variable",
            found="none",
            do="set the variable where megacpp runs",
        )
    require_webhook(f"alerts.webhook {webhook}", url)
    return url
