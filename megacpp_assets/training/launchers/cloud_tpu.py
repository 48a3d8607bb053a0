"""Training on a Cloud TPU machine, asked for as a queued resource, which releases itself when its job has ended."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final
from urllib.parse import urlsplit

import google.auth
import requests
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, RefreshError
from google.auth.transport.requests import AuthorizedSession

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import TPU
from megacpp_assets.training.launch.answers import refusal
from megacpp_assets.training.launch.launcher import Order, Report, State, Unanswered, require_digest
from megacpp_assets.training.tpu.slices import devices_of_type, require_even_rows

NEEDS_EXCHANGE: Final = True
MANY_NODES: Final = False
DEVICES: Final = (TPU,)
_ANSWER_SECONDS: Final = 60
_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_LOGIN: Final = "log in (gcloud auth application-default login), with the role tpu.admin"
_WAITING: Final = {"ACCEPTED", "PROVISIONING", "WAITING_FOR_RESOURCES", "CREATING"}
_TAKEN_AWAY: Final = {"SUSPENDING", "SUSPENDED"}


@dataclass(frozen=True, slots=True)
class Settings:
    """`accelerator` is a type of one host, such as `v6e-8`; `runtime` its software. `image` is `NAME@sha256:…` with the
    wheel and its extra `tpu`. `service_account` may use the bucket and delete queued resources; "" is its
    project's. `spot` is 1 for capacity that may be taken away, `wait_hours` how long it waits.
    """

    project: str
    zone: str
    accelerator: str
    runtime: str
    image: str
    python: str = "python"
    scratch: str = "/var/megacpp"
    service_account: str = ""
    network: str = "default"
    spot: int = 0
    wait_hours: int = 24
    api: str = "https://tpu.googleapis.com"


def open_launcher(settings: Settings) -> CloudTpu:
    """The launcher of a project and zone."""
    require_digest(settings.image)
    return CloudTpu(settings)


@dataclass
class CloudTpu:
    """A queued resource of the order's name with one machine. No address of its own is reached from outside."""

    settings: Settings
    _sessions: list[requests.Session] = field(default_factory=list)
    _answered: bool = False

    def plan(self, order: Order) -> str:
        """The request, and the script that its machine starts with, as a person reads it."""
        body = self._request(order)
        metadata = body["tpu"]["nodeSpec"][0]["node"]["metadata"]
        script, metadata["startup-script"] = metadata["startup-script"], "(below)"
        return f"POST {self._url()}?queuedResourceId={order.name}\n{json.dumps(body, indent=2)}\n\n{script}"

    def submit(self, order: Order) -> None:
        """Queue it, unless it is there."""
        if self._ask("GET", f"/{order.name}") is None:
            self._ask("POST", f"?queuedResourceId={order.name}", self._request(order))

    def look(self, name: str) -> Report:
        """By its state; how the job ended is its own word, in the exchange."""
        found = self._ask("GET", f"/{name}")
        if found is None:
            return Report(State.FAILED, "Cloud TPU does not know it")
        state = found.get("state", {})
        word = state.get("state", "ACCEPTED")
        if word in _TAKEN_AWAY:
            return Report(State.PREEMPTED, f"its queued resource is {word}")
        if word == "FAILED":
            return Report(State.FAILED, state.get("failedData", {}).get("error", {}).get("message", word))
        return Report(State.RUNNING, f"waiting for a TPU: {word}" if word in _WAITING else "")

    def release(self, name: str) -> None:
        """Delete it with its machine; it is gone when it is no longer known."""
        if self._ask("GET", f"/{name}") is None:
            return
        self._ask("DELETE", f"/{name}?force=true")
        if self._ask("GET", f"/{name}") is not None:
            raise Unanswered(f"queued resource {name}: still being deleted")

    def _request(self, order: Order) -> dict[str, Any]:
        settings, place = self.settings, urlsplit(order.place)
        require_even_rows(order.job.recipe, devices_of_type(settings.accelerator))
        if place.scheme != "gs":
            raise SpecError("launch.exchange of cloud_tpu", expected="gs://BUCKET/FOLDER", found=order.place)
        values = {
            "IMAGE": settings.image,
            "COMMAND": shlex.join(order.command("/scratch/job", settings.python)),
            "SCRATCH": f"{settings.scratch}/{order.name}",
            "BUCKET": place.netloc,
            "ENDED": f"{place.path.lstrip('/')}/{order.attempt}/ended.json",
            "ITSELF": f"{self._url()}/{order.name}?force=true",
        }
        told = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
        script = resources.files("megacpp_assets.training.launch").joinpath("startup.sh").read_text(encoding="utf-8")
        node: dict[str, Any] = {
            "acceleratorType": settings.accelerator,
            "runtimeVersion": settings.runtime,
            "networkConfig": {"network": settings.network, "enableExternalIps": False},
            "metadata": {"startup-script": script.replace("# SETTINGS\n", told)},
            "labels": {"megacpp-run": order.name},
            "serviceAccount": {"email": settings.service_account, "scope": [_SCOPE]},
        }
        spec = {"parent": f"projects/{settings.project}/locations/{settings.zone}", "nodeId": order.name, "node": node}
        policy = {"validUntilDuration": f"{settings.wait_hours * 3600}s"}
        return {"tpu": {"nodeSpec": [spec]}, "queueingPolicy": policy, **({"spot": {}} if settings.spot else {})}

    def _url(self) -> str:
        settings = self.settings
        return f"{settings.api}/v2/projects/{settings.project}/locations/{settings.zone}/queuedResources"

    def _ask(self, method: str, rest: str, body: Any = None) -> Any:
        """The answer; None for what is not there."""
        try:
            if not self._sessions:
                credentials, _ = google.auth.default(scopes=[_SCOPE])
                self._sessions.append(AuthorizedSession(credentials))  # type: ignore[no-untyped-call]
            answer = self._sessions[0].request(method, self._url() + rest, json=body, timeout=_ANSWER_SECONDS)
        except (DefaultCredentialsError, RefreshError) as error:
            self._sessions.clear()  # they may have been renewed by the next time
            status = 503 if error.retryable else 401
            raise refusal("Cloud TPU", status, str(error), answered=self._answered, login=_LOGIN) from error
        except (GoogleAuthError, requests.RequestException) as error:
            raise Unanswered(f"Cloud TPU: {type(error).__name__}: {error}") from error
        if answer.status_code == requests.codes.not_found and method != "POST":
            return None
        if not answer.ok:
            raise refusal("Cloud TPU", answer.status_code, answer.text, answered=self._answered, login=_LOGIN)
        self._answered = True
        return answer.json()
