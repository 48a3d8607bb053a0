"""Training on a TPU slice of GKE, as a JobSet: one pod that takes the chips of a host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kubernetes import client

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.launch.launcher import Order, Report, State, Unanswered
from megacpp_assets.training.launch.pods import ANSWER_SECONDS, Cluster, Pod, as_yaml

NEEDS_EXCHANGE: Final = True
_KIND: Final = {"group": "jobset.x-k8s.io", "version": "v1alpha2", "plural": "jobsets"}
_POOL: Final = "cloud.google.com/gke-nodepool"
_KEPT_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Settings:
    """`accelerator` and `topology` are GKE's words for a slice, such as `tpu-v6e-slice` and `2x2`, with `chips` a host.
    The others are those of the launcher `kubernetes`; `spot` is 1 for nodes that may be taken away.
    """

    image: str
    accelerator: str
    topology: str
    chips: int
    context: str = ""
    namespace: str = "default"
    python: str = "python"
    scratch: str = "/scratch"
    memory_gib: int = 0
    service_account: str = ""
    claim: str = ""
    secret: str = ""
    spot: int = 0


def open_launcher(settings: Settings) -> GkeTpu:
    """The launcher of a cluster with JobSet installed."""
    return GkeTpu(settings, Cluster(settings.context, settings.namespace))


@dataclass(frozen=True, slots=True)
class GkeTpu:
    """A JobSet of the order's name that is never started again by itself: `drive` begins the next attempt."""

    settings: Settings
    cluster: Cluster

    def plan(self, order: Order) -> str:
        """The manifest."""
        return as_yaml(self._manifest(order))

    def submit(self, order: Order) -> None:
        """Create it, unless it is there."""
        if self._job(order.name) is not None:
            return
        manifest = self._manifest(order)
        made = self.cluster.ask(
            lambda api: client.CustomObjectsApi(api).create_namespaced_custom_object(
                **_KIND, namespace=self.settings.namespace, body=manifest, _request_timeout=ANSWER_SECONDS
            )
        )
        if made is None:
            do = "install JobSet in the cluster: https://jobset.sigs.k8s.io"
            raise SpecError("the cluster", expected="the resource jobsets.jobset.x-k8s.io", found="none", do=do)

    def look(self, name: str) -> Report:
        """By the conditions of the JobSet, then by its pods."""
        job = self._job(name)
        if job is None:
            return Report(State.FAILED, "Kubernetes does not know it")
        ended = {each["type"]: each for each in job.get("status", {}).get("conditions", []) if each["status"] == "True"}
        if "Completed" in ended:
            return Report(State.SUCCEEDED)
        failed = ended.get("Failed")
        return self.cluster.report(name, f"{failed['reason']}: {failed['message']}" if failed else None)

    def release(self, name: str) -> None:
        """Delete it; it is gone when its pods are."""
        if self._job(name) is None:
            return
        self.cluster.ask(
            lambda api: client.CustomObjectsApi(api).delete_namespaced_custom_object(
                **_KIND,
                namespace=self.settings.namespace,
                name=name,
                propagation_policy="Foreground",
                _request_timeout=ANSWER_SECONDS,
            )
        )
        if self._job(name) is not None:
            raise Unanswered(f"jobset {name}: its pods are still ending")

    def _job(self, name: str) -> Any:
        return self.cluster.ask(
            lambda api: client.CustomObjectsApi(api).get_namespaced_custom_object(
                **_KIND, namespace=self.settings.namespace, name=name, _request_timeout=ANSWER_SECONDS
            )
        )

    def _manifest(self, order: Order) -> dict[str, Any]:
        settings = self.settings
        if order.job.recipe.device == "cuda":
            expected = "a device that a TPU slice has"
            raise SpecError("training.device", expected=expected, found="cuda", do="take another launcher")
        wanted = {
            "cloud.google.com/gke-tpu-accelerator": settings.accelerator,
            "cloud.google.com/gke-tpu-topology": settings.topology,
            **({"cloud.google.com/gke-spot": "true"} if settings.spot else {}),
        }
        pod = Pod(
            settings.image,
            settings.python,
            settings.scratch,
            settings.memory_gib,
            ",".join(f"{key}={value}" for key, value in wanted.items()),
            settings.service_account,
            settings.claim,
            settings.secret,
        )
        template = pod.template(order, {"google.com/tpu": str(settings.chips)})
        job = {"completionMode": "Indexed", "completions": 1, "parallelism": 1, "backoffLimit": 0, "template": template}
        slices = [{"name": "slice", "replicas": 1, "template": {"spec": job}}]
        exclusive = {"alpha.jobset.sigs.k8s.io/exclusive-topology": _POOL}
        return {
            "apiVersion": f"{_KIND['group']}/{_KIND['version']}",
            "kind": "JobSet",
            "metadata": {"name": order.name, "labels": {"megacpp/run": order.name}, "annotations": exclusive},
            "spec": {
                "failurePolicy": {"maxRestarts": 0},
                "ttlSecondsAfterFinished": _KEPT_SECONDS,
                "replicatedJobs": slices,
            },
        }
