"""Training on a Cloud TPU machine. The launcher asks for a queued resource, which deletes itself when its job ends."""

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
from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Report, Unanswered
from megacpp_assets.launch.providers.api_errors import api_error
from megacpp_assets.launch.providers.images import require_digest
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
    """`accelerator` is a type with one host, such as `v6e-8`. `runtime` is the software version of the machine. `image`
    is `NAME@sha256:…` and holds the wheel with its extra `tpu`. `service_account` needs the rights to use the bucket
    and to delete queued resources; "" is the default one of the project. `spot` is 1 for capacity that the provider may
    take away. `wait_hours` limits the wait for a machine.
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
    """Return the launcher of a project and zone. `SpecError` for an image without a digest."""
    require_digest(settings.image)
    return CloudTpu(settings)


@dataclass
class CloudTpu:
    """Creates one queued resource with one machine per attempt. The machine has no external address."""

    settings: Settings
    _sessions: list[requests.Session] = field(default_factory=list)
    _answered: bool = False

    def plan(self, order: AttemptOrder) -> str:
        """Return the request and the startup script of the machine."""
        body = self._request(order)
        metadata = body["tpu"]["nodeSpec"][0]["node"]["metadata"]
        script, metadata["startup-script"] = metadata["startup-script"], "(below)"
        return f"POST {self._url()}?queuedResourceId={order.name}\n{json.dumps(body, indent=2)}\n\n{script}"

    def submit(self, order: AttemptOrder) -> None:
        """Create the queued resource if it is missing."""
        if self._ask("GET", f"/{order.name}") is None:
            self._ask("POST", f"?queuedResourceId={order.name}", self._request(order))

    def look(self, name: str) -> Report:
        """Return the state of the queued resource. The job itself reports its end in the exchange."""
        found = self._ask("GET", f"/{name}")
        if found is None:
            return Report(AttemptState.FAILED, "Cloud TPU does not know it")
        state = found.get("state", {})
        word = state.get("state", "ACCEPTED")
        if word in _TAKEN_AWAY:
            return Report(AttemptState.PREEMPTED, f"its queued resource is {word}")
        if word == "FAILED":
            return Report(AttemptState.FAILED, state.get("failedData", {}).get("error", {}).get("message", word))
        return Report(AttemptState.RUNNING, f"waiting for a TPU: {word}" if word in _WAITING else "")

    def release(self, name: str) -> None:
        """Delete the queued resource and its machine. `Unanswered` while it is being deleted."""
        if self._ask("GET", f"/{name}") is None:
            return
        self._ask("DELETE", f"/{name}?force=true")
        if self._ask("GET", f"/{name}") is not None:
            raise Unanswered(f"queued resource {name}: still being deleted")

    def _request(self, order: AttemptOrder) -> dict[str, Any]:
        settings, place = self.settings, urlsplit(order.place)
        require_even_rows(order.job.recipe, devices_of_type(settings.accelerator))
        if place.scheme != "gs":
            raise SpecError(
                "launch.exchange of cloud_tpu",
                expected="gs://BUCKET/FOLDER",
                found=order.place,
                do="set launch.exchange",
            )
        values = {
            "IMAGE": settings.image,
            "COMMAND": shlex.join(order.command("/scratch/job", settings.python)),
            "SCRATCH": f"{settings.scratch}/{order.name}",
            "BUCKET": place.netloc,
            "ENDED": f"{place.path.lstrip('/')}/{order.attempt}/ended.json",
            "ITSELF": f"{self._url()}/{order.name}?force=true",
        }
        assignments = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
        script = resources.files("megacpp_assets.launch.providers").joinpath("startup.sh").read_text(encoding="utf-8")
        node: dict[str, Any] = {
            "acceleratorType": settings.accelerator,
            "runtimeVersion": settings.runtime,
            "networkConfig": {"network": settings.network, "enableExternalIps": False},
            "metadata": {"startup-script": script.replace("# SETTINGS\n", assignments)},
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
        """Return the answer of the API, or None for a missing resource."""
        try:
            if not self._sessions:
                credentials, _ = google.auth.default(scopes=[_SCOPE])
                self._sessions.append(AuthorizedSession(credentials))  # type: ignore[no-untyped-call]
            answer = self._sessions[0].request(method, self._url() + rest, json=body, timeout=_ANSWER_SECONDS)
        except (DefaultCredentialsError, RefreshError) as error:
            self._sessions.clear()  # the credentials may be renewed before the next call
            status = 503 if error.retryable else 401
            raise api_error("Cloud TPU", status, str(error), answered=self._answered, login=_LOGIN) from error
        except (GoogleAuthError, requests.RequestException) as error:
            raise Unanswered(f"Cloud TPU: {type(error).__name__}: {error}") from error
        if answer.status_code == requests.codes.not_found and method != "POST":
            return None
        if not answer.ok:
            raise api_error("Cloud TPU", answer.status_code, answer.text, answered=self._answered, login=_LOGIN)
        self._answered = True
        return answer.json()
