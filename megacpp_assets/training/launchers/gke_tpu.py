"""Training on a TPU slice of GKE, as a JobSet: one pod on one host, with all of its chips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.recipe.training import TPU
from megacpp_assets.training.launch.controllers import KEPT_SECONDS, Controlled, Resource, pods_of
from megacpp_assets.training.launch.launcher import Order
from megacpp_assets.training.launch.pods import Cluster, PodSettings
from megacpp_assets.training.tpu.slices import require_even_rows, require_one_host

NEEDS_EXCHANGE: Final = True
MANY_NODES: Final = False
DEVICES: Final = (TPU,)
_JOBSET: Final = Resource(
    "jobset.x-k8s.io", "v1alpha2", "JobSet", completed="Completed", source="https://jobset.sigs.k8s.io"
)
_EXCLUSIVE: Final = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(PodSettings):
    """`accelerator` and `topology` are GKE's words for a slice, such as `tpu-v6e-slice` and `2x2`, with `chips` a host.
    `spot` is 1 for nodes that may be taken away.
    """

    accelerator: str
    topology: str
    chips: int
    spot: int = 0

    def specify(self, order: Order) -> tuple[dict[str, str], dict[str, Any]]:
        """Annotations and specification of the JobSet of an attempt. `SpecError` for a slice of several hosts, and for
        rows that its chips cannot share evenly."""
        require_one_host(self.topology, self.chips)
        require_even_rows(order.job.recipe, self.chips)
        nodes = {
            "cloud.google.com/gke-tpu-accelerator": self.accelerator,
            "cloud.google.com/gke-tpu-topology": self.topology,
            **({"cloud.google.com/gke-spot": "true"} if self.spot else {}),
        }
        job = {**pods_of(order), "template": self.template(order, {"google.com/tpu": str(self.chips)}, nodes)}
        return _EXCLUSIVE, {
            "failurePolicy": {"maxRestarts": 0},
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "replicatedJobs": [{"name": "slice", "replicas": 1, "template": {"spec": job}}],
        }


def open_launcher(settings: Settings) -> Controlled:
    """The launcher of a cluster with JobSet installed."""
    return Controlled(Cluster(settings.context, settings.namespace), _JOBSET, settings.specify)
