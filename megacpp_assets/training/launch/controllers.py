"""An attempt that a controller of Kubernetes carries out: a Job, a JobSet or another object that makes pods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import yaml
from kubernetes import client

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.launch.launcher import Order, Report, State, Unanswered
from megacpp_assets.training.launch.pods import ANSWER_SECONDS, Cluster

KEPT_SECONDS: Final = 86_400
"""How long Kubernetes keeps an ended attempt that nobody could release (`ttlSecondsAfterFinished`)."""


def pods_of(order: Order) -> dict[str, Any]:
    """Of a job's specification: a pod a node, which Kubernetes never starts again: `drive` begins the next attempt."""
    return {
        "completionMode": "Indexed",
        "completions": order.nodes,
        "parallelism": order.nodes,
        "backoffLimit": 0,
    }


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object, where the API has it, and the condition that says that it ended well. `source` is where a
    cluster gets it from that lacks it."""

    group: str
    version: str
    kind: str
    completed: str
    source: str

    @property
    def plural(self) -> str:
        """Its name in paths of the API."""
        return f"{self.kind.lower()}s"


@dataclass(frozen=True, slots=True)
class Controlled:
    """A launcher by such objects, each of its order's name. `specify` gives annotations and specification of one."""

    cluster: Cluster
    resource: Resource
    specify: Callable[[Order], tuple[dict[str, str], dict[str, Any]]]

    def plan(self, order: Order) -> str:
        """The manifest, as a person reads it and as `kubectl apply` takes it."""
        return str(yaml.safe_dump(self._manifest(order), sort_keys=False))

    def submit(self, order: Order) -> None:
        """Create it, unless it is there. `SpecError` in a cluster that does not know the resource."""
        if self._found(order.name) is not None:
            return
        made = self._ask("create_namespaced_custom_object", body=self._manifest(order))
        if made is None:
            name = f"{self.resource.plural}.{self.resource.group}"
            do = f"install it in the cluster: {self.resource.source}"
            raise SpecError("the cluster", expected=f"the resource {name}", found="none", do=do)

    def look(self, name: str) -> Report:
        """By its conditions, then by its pods."""
        found = self._found(name)
        if found is None:
            return Report(State.FAILED, "Kubernetes does not know it")
        conditions = found.get("status", {}).get("conditions") or []
        ended = {each["type"]: each for each in conditions if each["status"] == "True"}
        if self.resource.completed in ended:
            return Report(State.SUCCEEDED)
        failed = ended.get("Failed")
        return self.cluster.report(name, f"{failed.get('reason')}: {failed.get('message')}" if failed else None)

    def release(self, name: str) -> None:
        """Delete it; it is gone when its pods are."""
        if self._found(name) is None:
            return
        self._ask("delete_namespaced_custom_object", name=name, propagation_policy="Foreground")
        if self._found(name) is not None:
            raise Unanswered(f"{self.resource.kind} {name}: its pods are still ending")

    def _found(self, name: str) -> Any:
        return self._ask("get_namespaced_custom_object", name=name)

    def _ask(self, action: str, **words: Any) -> Any:
        where = {"group": self.resource.group, "version": self.resource.version, "plural": self.resource.plural}
        return self.cluster.ask(
            lambda api: getattr(client.CustomObjectsApi(api), action)(
                **where, namespace=self.cluster.namespace, _request_timeout=ANSWER_SECONDS, **words
            )
        )

    def _manifest(self, order: Order) -> dict[str, Any]:
        annotations, spec = self.specify(order)
        metadata: dict[str, Any] = {"name": order.name, "labels": {"megacpp/run": order.name}}
        return {
            "apiVersion": f"{self.resource.group}/{self.resource.version}",
            "kind": self.resource.kind,
            "metadata": metadata | ({"annotations": annotations} if annotations else {}),
            "spec": spec,
        }
