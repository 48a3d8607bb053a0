"""What the launchers of Kubernetes have in common: the pod that carries an attempt out, and what the API says of it.

Credentials are the kubeconfig's, or those of the pod that this runs in; what the job may reach it has from its service
account or from a Secret that the settings name. No manifest holds any.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.client import ApiException
from kubernetes.config import ConfigException

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.training.launch.answers import refusal
from megacpp_assets.training.launch.launcher import Order, Report, State, Unanswered, require_digest
from megacpp_assets.training.processes.node import ADDRESS_VARIABLE
from megacpp_assets.training.processes.process import GRACE_SECONDS

ANSWER_SECONDS: Final = 30
_TAKEN_AWAY: Final = {
    "Evicted",
    "NodeLost",
    "NodeShutdown",
    "Preempting",
    "Shutdown",
    "Terminated",
    "UnexpectedAdmissionError",
}
_NEVER_STARTS: Final = {"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}
_LOGIN: Final = (
    "renew the credentials of the kubeconfig, or give the service account the right to jobs, pods and events"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSettings:
    """What the settings of every launcher on Kubernetes hold: the cluster, and the pod that carries an attempt out.

    `image` is `NAME@sha256:…` with the wheel that both sides must agree on. `context` is one of the kubeconfig, whose
    current one "" means. `claim` is the volume claim that is mounted where a `file://` exchange lies, `secret` names a
    Secret whose keys become environment variables of the job.
    """

    image: str
    context: str = ""
    namespace: str = "default"
    python: str = "python"
    scratch: str = "/scratch"
    memory_gib: int = 0
    service_account: str = ""
    claim: str = ""
    secret: str = ""

    def template(self, order: Order, limits: Mapping[str, str], nodes: Mapping[str, str]) -> dict[str, Any]:
        """The pod template, unprivileged, with a scratch volume, without an open port, for nodes that bear the labels
        `nodes`."""
        require_digest(self.image)
        training = order.job.recipe
        wanted = {"cpu": str(order.processes * training.threads), **limits}
        if self.memory_gib:
            wanted["memory"] = f"{self.memory_gib}Gi"
        volumes: dict[str, tuple[str, dict[str, Any]]] = {
            "scratch": (self.scratch, {"emptyDir": {}}),
            "temporary": ("/tmp", {"emptyDir": {}}),  # noqa: S108  libtpu's lock lies there
            "shared-memory": ("/dev/shm", {"emptyDir": {"medium": "Memory"}}),  # noqa: S108  NCCL's between processes
        }
        if self.claim:
            folder = unquote(urlsplit(order.place).path).rpartition("/jobs/")[0]
            volumes["exchange"] = (folder, {"persistentVolumeClaim": {"claimName": self.claim}})
        container: dict[str, Any] = {
            "name": "training",
            "image": self.image,
            "command": order.command(f"{self.scratch}/{order.name}", self.python, "JOB_COMPLETION_INDEX"),
            "env": [{"name": name, "value": self.scratch} for name in ("HOME", "TMPDIR")],
            "resources": {"limits": wanted, "requests": wanted},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [{"name": name, "mountPath": path} for name, (path, _) in volumes.items()],
        }
        if order.nodes > 1:
            address = {"fieldRef": {"fieldPath": "status.podIP"}}
            container["env"].append({"name": ADDRESS_VARIABLE, "valueFrom": address})
        if self.secret:
            container["envFrom"] = [{"secretRef": {"name": self.secret}}]
        spec: dict[str, Any] = {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 2 * GRACE_SECONDS,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
            "volumes": [{"name": name, **volume} for name, (_, volume) in volumes.items()],
        }
        if nodes:
            spec["nodeSelector"] = dict(nodes)
        if self.service_account:
            spec["serviceAccountName"] = self.service_account
        return {"metadata": {"labels": {"megacpp/run": order.name}}, "spec": spec}


@dataclass
class Cluster:
    """The API server that `context` of the kubeconfig names ("": its current one, or the one around this pod)."""

    context: str
    namespace: str
    _api: list[client.ApiClient] = field(default_factory=list)
    _answered: bool = False

    def ask(self, call: Callable[[client.ApiClient], Any]) -> Any:
        """The answer; None for what is not there. `Unanswered` where it gives none now; that is so too for credentials
        that end after they were good once.
        """
        try:
            answer = call(self._client())
        except ApiException as error:
            if error.status == 404:
                return None
            raise self._named(error) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unanswered(f"Kubernetes: {type(error).__name__}: {error}") from error
        self._answered = True
        return answer

    def report(self, name: str, failed: str | None) -> Report:
        """Of an attempt that has `failed` for that reason, or still runs (None), by its pods and events."""
        pods = self.ask(lambda api: self._pods(api, name)).items
        if failed is not None:
            if not pods or any(_taken(pod) for pod in pods):
                return Report(State.PREEMPTED, "its node was taken away")
            words = [word for pod in pods if (word := _last_words(pod))]
            return Report(State.FAILED, "; ".join(words) or failed)
        for pod in pods:
            for status in pod.status.container_statuses or []:
                waits = status.state.waiting
                if waits and waits.reason in _NEVER_STARTS:
                    return Report(State.FAILED, f"image {status.image}: {waits.reason}: {waits.message}")
        waiting = [
            each.message for pod in pods for each in pod.status.conditions or [] if each.reason == "Unschedulable"
        ]
        if not pods and (refused := self._refusal(name)):
            return Report(State.FAILED, refused)
        return Report(State.RUNNING, f"waiting for a node: {waiting[0]}" if waiting else "")

    def _refusal(self, name: str) -> str:
        """Why no pod of it may be made: a quota, a policy."""
        where = f"involvedObject.name={name},reason=FailedCreate"
        events = self.ask(
            lambda api: client.CoreV1Api(api).list_namespaced_event(
                self.namespace, field_selector=where, _request_timeout=ANSWER_SECONDS
            )
        ).items
        return events[-1].message if events else ""

    def _pods(self, api: client.ApiClient, name: str) -> Any:
        selector = f"megacpp/run={name}"
        return client.CoreV1Api(api).list_namespaced_pod(
            self.namespace, label_selector=selector, _request_timeout=ANSWER_SECONDS
        )

    def _client(self) -> client.ApiClient:
        if not self._api:
            settings = client.Configuration()
            try:
                try:
                    # Named here: the library reads the variable when it is imported.
                    file = os.environ.get("KUBECONFIG")
                    config.load_kube_config(file, self.context or None, settings)
                except ConfigException:
                    if self.context:
                        raise
                    config.load_incluster_config(client_configuration=settings)
            except ConfigException as error:
                do = "set KUBECONFIG, or launch.settings.context to one of its contexts"
                raise EnvironmentLacks("Kubernetes", expected="a kubeconfig", found=str(error), do=do) from error
            settings.retries = False  # asked again by `drive`, after growing pauses
            self._api.append(client.ApiClient(settings))
        return self._api[0]

    def _named(self, error: ApiException) -> Exception:
        named = refusal("Kubernetes", error.status, _message(error), answered=self._answered, login=_LOGIN)
        if isinstance(named, Unanswered):
            self._api.clear()  # the kubeconfig may hold new credentials by now
        return named


def _message(error: ApiException) -> str:
    try:
        return str(yaml.safe_load(error.body or "")["message"])
    except (yaml.YAMLError, TypeError, KeyError):
        return str(error.reason)


def _taken(pod: Any) -> bool:
    told = any(each.type == "DisruptionTarget" and each.status == "True" for each in pod.status.conditions or [])
    return told or pod.status.reason in _TAKEN_AWAY


def _last_words(pod: Any) -> str:
    for status in pod.status.container_statuses or []:
        ended = status.state.terminated
        if ended and ended.exit_code:
            return f"exit code {ended.exit_code}" + (f", {ended.reason}" if ended.reason not in (None, "Error") else "")
    return str(pod.status.message or "")
