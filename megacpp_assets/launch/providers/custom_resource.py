"""A launcher for Kubernetes resources that create pods, such as Job and JobSet: one resource per attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import yaml
from kubernetes import client

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Report, Unanswered
from megacpp_assets.launch.providers.pods import ANSWER_SECONDS, Cluster

KEPT_SECONDS: Final = 86_400
"""How long Kubernetes keeps an ended attempt that could not be released (`ttlSecondsAfterFinished`)."""


def pods_of(order: AttemptOrder) -> dict[str, Any]:
    """Return the part of a specification that asks for one pod per node. Kubernetes never restarts a pod, because
    `drive` starts the next attempt."""
    return {
        "completionMode": "Indexed",
        "completions": order.nodes,
        "parallelism": order.nodes,
        "backoffLimit": 0,
    }


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of resource: its place in the API, the condition type of success, and the page to install it from."""

    group: str
    version: str
    kind: str
    completed: str
    source: str

    @property
    def plural(self) -> str:
        """The name of the resource in paths of the API."""
        return f"{self.kind.lower()}s"


@dataclass(frozen=True, slots=True)
class ResourceLauncher:
    """A launcher that creates one resource per attempt. `specify` returns its annotations and its specification."""

    cluster: Cluster
    resource: Resource
    specify: Callable[[AttemptOrder], tuple[dict[str, str], dict[str, Any]]]

    def plan(self, order: AttemptOrder) -> str:
        """Return the manifest, in the form that `kubectl apply` accepts."""
        return str(yaml.safe_dump(self._manifest(order), sort_keys=False))

    def submit(self, order: AttemptOrder) -> None:
        """Create the resource if it is missing. `SpecError` if the cluster does not know this kind of resource."""
        if self._found(order.name) is not None:
            return
        made = self._ask("create_namespaced_custom_object", body=self._manifest(order))
        if made is None:
            name = f"{self.resource.plural}.{self.resource.group}"
            do = f"install it in the cluster: {self.resource.source}"
            raise SpecError("the cluster", expected=f"the resource {name}", found="none", do=do)

    def look(self, name: str) -> Report:
        """Return the state from the conditions of the resource, and else from its pods."""
        found = self._found(name)
        if found is None:
            return Report(AttemptState.FAILED, "Kubernetes does not know it")
        conditions = found.get("status", {}).get("conditions") or []
        ended = {each["type"]: each for each in conditions if each["status"] == "True"}
        if self.resource.completed in ended:
            return Report(AttemptState.SUCCEEDED)
        failed = ended.get("Failed")
        return self.cluster.report(name, f"{failed.get('reason')}: {failed.get('message')}" if failed else None)

    def release(self, name: str) -> None:
        """Delete the resource. `Unanswered` while its pods are still ending."""
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

    def _manifest(self, order: AttemptOrder) -> dict[str, Any]:
        annotations, spec = self.specify(order)
        metadata: dict[str, Any] = {"name": order.name, "labels": {"megacpp/run": order.name}}
        return {
            "apiVersion": f"{self.resource.group}/{self.resource.version}",
            "kind": self.resource.kind,
            "metadata": metadata | ({"annotations": annotations} if annotations else {}),
            "spec": spec,
        }
