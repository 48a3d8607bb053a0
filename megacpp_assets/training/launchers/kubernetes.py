"""Training as a Job of Kubernetes: one pod with a GPU for each process, or without any for a recipe on CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kubernetes import client

from megacpp_assets.training.launch.launcher import Order, Report, State, Unanswered
from megacpp_assets.training.launch.pods import ANSWER_SECONDS, Cluster, Pod, as_yaml

NEEDS_EXCHANGE: Final = True
_KEPT_SECONDS: Final = 86_400
"""How long Kubernetes keeps an ended job that nobody could release."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`image` is `NAME@sha256:…` with the wheel, `gpu` the resource that a CUDA process takes one of. `context` is one
    of the kubeconfig; `node_selector` is `KEY=VALUE,…`. `claim` mounts a `file://` exchange, `secret` names a Secret
    whose keys become environment variables of the job.
    """

    image: str
    context: str = ""
    namespace: str = "default"
    python: str = "python"
    scratch: str = "/scratch"
    gpu: str = "nvidia.com/gpu"
    memory_gib: int = 0
    node_selector: str = ""
    service_account: str = ""
    claim: str = ""
    secret: str = ""
    hours: int = 0


def open_launcher(settings: Settings) -> Kubernetes:
    """The launcher of a cluster."""
    return Kubernetes(settings, Cluster(settings.context, settings.namespace))


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """A job of the order's name that Kubernetes itself never starts again: `drive` begins the next attempt."""

    settings: Settings
    cluster: Cluster

    def plan(self, order: Order) -> str:
        """The manifest."""
        return as_yaml(self._manifest(order))

    def submit(self, order: Order) -> None:
        """Create it, unless it is there."""
        if self._job(order.name) is None:
            manifest = self._manifest(order)
            self.cluster.ask(
                lambda api: client.BatchV1Api(api).create_namespaced_job(
                    self.settings.namespace, manifest, _request_timeout=ANSWER_SECONDS
                )
            )

    def look(self, name: str) -> Report:
        """By the conditions of the job, then by its pods."""
        job = self._job(name)
        if job is None:
            return Report(State.FAILED, "Kubernetes does not know it")
        ended = {each.type: each for each in job.status.conditions or [] if each.status == "True"}
        if "Complete" in ended:
            return Report(State.SUCCEEDED)
        failed = ended.get("Failed")
        return self.cluster.report(name, f"{failed.reason}: {failed.message}" if failed else None)

    def release(self, name: str) -> None:
        """Delete it; it is gone when its pods are."""
        if self._job(name) is None:
            return
        self.cluster.ask(
            lambda api: client.BatchV1Api(api).delete_namespaced_job(
                name, self.settings.namespace, propagation_policy="Foreground", _request_timeout=ANSWER_SECONDS
            )
        )
        if self._job(name) is not None:
            raise Unanswered(f"job {name}: its pods are still ending")

    def _job(self, name: str) -> Any:
        return self.cluster.ask(
            lambda api: client.BatchV1Api(api).read_namespaced_job(
                name, self.settings.namespace, _request_timeout=ANSWER_SECONDS
            )
        )

    def _manifest(self, order: Order) -> dict[str, Any]:
        settings, training = self.settings, order.job.recipe
        pod = Pod(
            settings.image,
            settings.python,
            settings.scratch,
            settings.memory_gib,
            settings.node_selector,
            settings.service_account,
            settings.claim,
            settings.secret,
        )
        limits = {settings.gpu: str(training.processes)} if training.device == "cuda" else {}
        spec: dict[str, Any] = {
            "completionMode": "Indexed",
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
            "template": pod.template(order, limits),
        }
        if settings.hours:
            spec["activeDeadlineSeconds"] = settings.hours * 3600
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": order.name, "labels": {"megacpp/run": order.name}},
            "spec": spec,
        }
