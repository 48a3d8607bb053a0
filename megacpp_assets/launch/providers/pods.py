"""Pods on Kubernetes: the pod template of an attempt, and the state of its pods.

Credentials come from the kubeconfig, or from the pod that this process runs in. The job gets its rights from its
service account, or from a Secret that the settings name. No manifest holds a credential.
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

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Report, Unanswered
from megacpp_assets.launch.providers.api_errors import api_error
from megacpp_assets.launch.providers.images import require_digest
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
    """The settings of every launcher on Kubernetes.

    `image` is `NAME@sha256:…` and holds the same wheel as this machine. `context` is a context of the kubeconfig; "" is
    the current one. `claim` is the volume claim that is mounted at the folder of a `file://` exchange. `secret` names a
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

    def template(self, order: AttemptOrder, limits: Mapping[str, str], nodes: Mapping[str, str]) -> dict[str, Any]:
        """Return the template of an unprivileged pod with a scratch volume and no open port, for nodes with the labels
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
        if not self.claim and order.place.startswith("file:"):
            found = "none, so that no pod has the folder of launch.exchange"
            do = "name the claim of the volume that holds this folder, or choose an exchange gs://BUCKET/FOLDER"
            raise SpecError("launch.settings.claim", expected="a volume claim", found=found, do=do)
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
    """The API server of the kubeconfig's `context`. "" is the current context, or the cluster of this pod."""

    context: str
    namespace: str
    _api: list[client.ApiClient] = field(default_factory=list)
    _answered: bool = False

    def ask(self, call: Callable[[client.ApiClient], Any]) -> Any:
        """Return the answer of the API, or None for a missing object.

        `Unanswered` if the API gives no answer now, or if credentials that worked before have expired.
        """
        try:
            answer = call(self._client())
        except ApiException as error:
            if error.status == 404:
                return None
            raise self._exception(error) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unanswered(f"Kubernetes: {type(error).__name__}: {error}") from error
        self._answered = True
        return answer

    def report(self, name: str, failed: str | None) -> Report:
        """Return the state from pods and events. `failed` is the reason of a failure, or None if the attempt runs."""
        pods = self.ask(lambda api: self._pods(api, name)).items
        if failed is not None:
            if not pods or any(_was_taken_away(pod) for pod in pods):
                return Report(AttemptState.PREEMPTED, "its node was taken away")
            words = [word for pod in pods if (word := _last_words(pod))]
            return Report(AttemptState.FAILED, "; ".join(words) or failed)
        for pod in pods:
            for status in pod.status.container_statuses or []:
                waits = status.state.waiting
                if waits and waits.reason in _NEVER_STARTS:
                    return Report(AttemptState.FAILED, f"image {status.image}: {waits.reason}: {waits.message}")
        waiting = [
            each.message for pod in pods for each in pod.status.conditions or [] if each.reason == "Unschedulable"
        ]
        if not pods and (reason := self._rejection(name)):
            return Report(AttemptState.FAILED, reason)
        return Report(AttemptState.RUNNING, f"waiting for a node: {waiting[0]}" if waiting else "")

    def _rejection(self, name: str) -> str:
        """Return why the cluster rejects the pods, such as a quota or a policy; "" if it does not."""
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
            settings.retries = False  # `drive` asks again after growing pauses
            self._api.append(client.ApiClient(settings))
        return self._api[0]

    def _exception(self, error: ApiException) -> Exception:
        exception = api_error("Kubernetes", error.status, _message(error), answered=self._answered, login=_LOGIN)
        if isinstance(exception, Unanswered):
            self._api.clear()  # the kubeconfig may hold new credentials at the next call
        return exception


def _message(error: ApiException) -> str:
    try:
        return str(yaml.safe_load(error.body or "")["message"])
    except (yaml.YAMLError, TypeError, KeyError):
        return str(error.reason)


def _was_taken_away(pod: Any) -> bool:
    disrupted = any(each.type == "DisruptionTarget" and each.status == "True" for each in pod.status.conditions or [])
    return disrupted or pod.status.reason in _TAKEN_AWAY


def _last_words(pod: Any) -> str:
    for status in pod.status.container_statuses or []:
        ended = status.state.terminated
        if ended and ended.exit_code:
            return f"exit code {ended.exit_code}" + (f", {ended.reason}" if ended.reason not in (None, "Error") else "")
    return str(pod.status.message or "")
