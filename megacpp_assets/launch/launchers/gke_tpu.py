"""Training on a TPU slice of GKE, as a JobSet: one pod on one host, with all of its chips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.recipe.training import TPU
from megacpp_assets.launch.launcher import AttemptOrder
from megacpp_assets.launch.providers.custom_resource import KEPT_SECONDS, Resource, ResourceLauncher, pods_of
from megacpp_assets.launch.providers.pods import Cluster, PodSettings
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
    """`accelerator` and `topology` name a slice as GKE does, such as `tpu-v6e-slice` and `2x2`. `chips` is the number
    of chips per host. `spot` is 1 for nodes that the provider may take away.
    """

    accelerator: str
    topology: str
    chips: int
    spot: int = 0

    def specify(self, order: AttemptOrder) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the annotations and the specification of the JobSet of an attempt.

        `SpecError` for a slice of several hosts, and for rows that the chips cannot share evenly.
        """
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


def open_launcher(settings: Settings) -> ResourceLauncher:
    """Return the launcher of a cluster that has JobSet installed."""
    return ResourceLauncher(Cluster(settings.context, settings.namespace), _JOBSET, settings.specify)
