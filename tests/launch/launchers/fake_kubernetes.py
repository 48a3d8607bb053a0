"""An API server of Kubernetes with one node, this machine: a job's container is a process here."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.launch.launchers.fake_api import FakeApi, Machine, Refusal

_JOBS = re.compile(r"/apis/(?:batch/v1|jobset\.x-k8s\.io/v1alpha2)/namespaces/[\w-]+/(jobs|jobsets)(?:/([\w-]+))?")
_PODS = re.compile(r"/api/v1/namespaces/[\w-]+/(pods|events)")


@dataclass
class _Job:
    """`machines` is empty while no pod may start; `disrupted` means that its node was taken away."""

    manifest: dict[str, Any]
    machines: list[Machine] = field(default_factory=list)
    disrupted: bool = False

    def codes(self) -> list[int | None]:
        return [machine.code() for machine in self.machines]


class FakeKubernetes(FakeApi):
    """`quota` refuses pods with that message, `no_image` keeps them from starting, `full` from being placed."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.created = folder, 201
        self.jobs: dict[str, _Job] = {}
        self.quota = ""
        self.no_image = self.full = self.no_jobsets = False
        self.started = 0

    def kubeconfig(self) -> Path:
        """A file that leads here."""
        cluster, user = {"server": self.url}, {"token": "canary-of-the-kubeconfig"}
        file = self.folder / "kubeconfig"
        named = {"clusters": [{"name": "here", "cluster": cluster}], "users": [{"name": "me", "user": user}]}
        contexts = [{"name": "here", "context": {"cluster": "here", "user": "me"}}]
        file.write_text(yaml.safe_dump({**named, "contexts": contexts, "current-context": "here"}))
        return file

    @property
    def left(self) -> list[str]:
        """Jobs that are known, and machines that run."""
        running = [name for name, job in self.jobs.items() if None in job.codes()]
        return [*self.jobs, *running]

    def preempt(self, name: str, number: int = signal.SIGKILL, first: int = 0) -> None:
        """The nodes from that index on go; with SIGTERM they give notice."""
        job = self.jobs[name]
        for machine in job.machines[first:]:
            machine.signal(number)
        job.disrupted = True

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Any:
        match = _JOBS.fullmatch(path)
        if match and not (self.no_jobsets and match[1] == "jobsets"):
            return self._job(method, match[1], match[2], body)
        if (match := _PODS.fullmatch(path)) and match[1] == "pods":
            name = query["labelSelector"].removeprefix("megacpp/run=")
            return {"kind": "PodList", "apiVersion": "v1", "items": self._pods(name)}
        if match:
            assert "reason=FailedCreate" in query["fieldSelector"]
            about = {"involvedObject": {}, "metadata": {}, "message": self.quota}
            return {"kind": "EventList", "apiVersion": "v1", "items": [about] if self.quota else []}
        raise Refusal(404, f"no {path} here")

    def _job(self, method: str, kind: str, name: str | None, body: Any) -> Any:
        if method == "POST":
            name = body["metadata"]["name"]
            if name in self.jobs:
                raise Refusal(409, f"{kind} {name} already exists")
            self.jobs[name] = _Job(body)
            if not (self.quota or self.no_image or self.full):
                self._start(kind, self.jobs[name])
        elif name not in self.jobs:
            raise Refusal(404, f"{kind} {name} not found")
        elif method == "DELETE":
            for machine in self.jobs.pop(name).machines:
                machine.end()
            return {"kind": "Status", "status": "Success"}
        return {**self.jobs[name].manifest, "status": self._status(kind, self.jobs[name])}

    def _start(self, kind: str, job: _Job) -> None:
        spec = job.manifest["spec"]
        if kind == "jobsets":
            spec = spec["replicatedJobs"][0]["template"]["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        self.started += 1
        for index in range(spec["completions"]):
            # What a field of the pod gives is its address in the cluster's network.
            given = {each["name"]: each.get("value", "127.0.0.1") for each in container["env"]}
            given["JOB_COMPLETION_INDEX"] = str(index)
            where = self.folder / "pods" / f"{job.manifest['metadata']['name']}-{index}"
            job.machines.append(Machine(container["command"], where, given))

    @staticmethod
    def _status(kind: str, job: _Job) -> dict[str, Any]:
        codes = job.codes()
        bad = [code for code in codes if code]
        words = {"jobs": ("Complete", "Failed"), "jobsets": ("Completed", "Failed")}[kind]
        if not codes or (None in codes and not bad):
            return {}
        said = {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
        return {"conditions": [{"type": words[bool(bad)], "status": "True", **(said if bad else {})}]}

    def _pods(self, name: str) -> list[dict[str, Any]]:
        job = self.jobs.get(name)
        if job is None or self.quota:
            return []
        if self.full:
            message = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
            placed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            return [{"metadata": {}, "status": {"conditions": [placed]}}]
        if self.no_image:
            waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image: manifest unknown"}
            return [{"metadata": {}, "status": {"containerStatuses": [_status_of({"waiting": waiting})]}}]
        return [{"metadata": {}, "status": self._of_machine(job, machine)} for machine in job.machines]

    @staticmethod
    def _of_machine(job: _Job, machine: Machine) -> dict[str, Any]:
        code = machine.code()
        state = {"running": {}} if code is None else {"terminated": {"exitCode": code if code >= 0 else 128 - code}}
        conditions = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}] * job.disrupted
        return {"conditions": conditions, "containerStatuses": [_status_of(state)]}


def _status_of(state: dict[str, Any]) -> dict[str, Any]:
    whole = {"name": "training", "image": "image", "imageID": "", "ready": False, "restartCount": 0}
    return {**whole, "state": state}
