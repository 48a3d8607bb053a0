"""Training as a Job of Kubernetes: a pod a node with a GPU for each process, or without any for a recipe on CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import CPU, CUDA
from megacpp_assets.launch.launcher import AttemptOrder
from megacpp_assets.launch.providers.custom_resource import KEPT_SECONDS, Resource, ResourceLauncher, pods_of
from megacpp_assets.launch.providers.pods import Cluster, PodSettings

NEEDS_EXCHANGE: Final = True
MANY_NODES: Final = True
DEVICES: Final = (CPU, CUDA)
_JOB: Final = Resource("batch", "v1", "Job", completed="Complete", source="https://kubernetes.io/docs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(PodSettings):
    """`gpu` is the resource of which each CUDA process gets one. `node_selector` is `KEY=VALUE,…`. `hours` limits an
    attempt; 0 is no limit."""

    gpu: str = "nvidia.com/gpu"
    node_selector: str = ""
    hours: int = 0

    def specify(self, order: AttemptOrder) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the annotations and the specification of the Job of an attempt."""
        training = order.job.recipe
        limits = {self.gpu: str(order.processes)} if training.device == CUDA else {}
        nodes = dict(pair.split("=", 1) for pair in self.node_selector.split(",") if pair)
        deadline = {"activeDeadlineSeconds": self.hours * 3600} if self.hours else {}
        kept = {"ttlSecondsAfterFinished": KEPT_SECONDS}
        return {}, {**pods_of(order), **kept, "template": self.template(order, limits, nodes), **deadline}


def open_launcher(settings: Settings) -> ResourceLauncher:
    """Return the launcher of a cluster. `SpecError` for a node selector of another form than KEY=VALUE,…."""
    for pair in filter(None, settings.node_selector.split(",")):
        key, equals, _ = pair.partition("=")
        if not (key and equals):
            where = "launch.settings.node_selector"
            raise SpecError(where, expected="KEY=VALUE,…", found=repr(settings.node_selector), do="correct the setting")
    return ResourceLauncher(Cluster(settings.context, settings.namespace), _JOB, settings.specify)
