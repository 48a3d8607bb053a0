"""Training as a Job, or as a JobSet on a TPU slice: the API server of Kubernetes runs containers as processes."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from megacpp_assets.contract.errors import EnvironmentLacks, MegacppError, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.drive import drive
from megacpp_assets.launch.launcher import AttemptOrder
from megacpp_assets.launch.protocol.job_folder import JobFolder
from megacpp_assets.launch.protocol.shared_folder import SharedFolder
from megacpp_assets.launch.registry import launcher_for, open_launcher
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.trained.stage import run
from megacpp_assets.training.job import TrainingJob
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.launch.launchers.fake_kubernetes import FakeKubernetes
from tests.launch.quick import Body, quick_python
from tests.training.waiting import wait_for
from tests.training.world import tiny_root, tiny_spec

IMAGE = f"registry.example/megacpp@sha256:{'0' * 64}"


TPU = {"accelerator": "tpu-v6e-slice", "topology": "2x2", "chips": 4}
LAUNCHERS: dict[str, dict[str, Any]] = {"kubernetes": {}, "gke_tpu": TPU}
_ONE_LAUNCHER = pytest.mark.parametrize("launcher", ["kubernetes", pytest.param("gke_tpu", marks=pytest.mark.campaign)])
"""For what both do in the same code; that a job runs to its end is tested with each."""


@pytest.fixture(params=sorted(LAUNCHERS))
def launcher(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKubernetes]:
    api = FakeKubernetes(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig()))
    yield api
    api.close()


def spec_for(launcher: str, root: Path, **changes: Any) -> TrainedCheckpointSpec:
    """The tiny training on a device that the launcher has, with a row for each chip."""
    own = {"device": "tpu", "batch_rows": 4} if launcher == "gke_tpu" else {}
    return tiny_spec(root, **(own | changes))


def recipe_in(folder: Path, body: Body | None = None, launcher: str = "kubernetes", **changes: Any) -> LaunchRecipe:
    python = quick_python(folder / "python", body)
    own = {"image": IMAGE, "python": python, "scratch": str(folder / "scratch"), "claim": "shared"}
    settings = {**own, **LAUNCHERS[launcher]}
    values = {"silence_seconds": 60, "look_seconds": 0.1, "exchange": (folder / "exchange").as_uri()} | changes
    return LaunchRecipe(launcher, settings=settings, **values)


def train(spec: TrainedCheckpointSpec, recipe: LaunchRecipe) -> None:
    run(spec, launch=partial(drive, open_launcher(recipe), recipe))


def test_a_job_brings_its_checkpoint_and_is_deleted(cluster: FakeKubernetes, launcher: str, tmp_path: Path) -> None:
    spec = spec_for(launcher, tiny_root(tmp_path / "root"))
    train(spec, recipe_in(tmp_path, launcher=launcher))
    assert open_artifact(spec.root, checkpoint_target(spec, 12).path).verify()
    assert not cluster.left and cluster.started == 1


@_ONE_LAUNCHER
def test_a_node_taken_away_costs_an_attempt(cluster: FakeKubernetes, launcher: str, tmp_path: Path) -> None:
    spec = spec_for(launcher, tiny_root(tmp_path / "root"), steps=60, save_every=10)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    launching = threading.Thread(target=train, args=(spec, recipe_in(tmp_path, launcher=launcher)))
    launching.start()
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    cluster.preempt(f"{post.name}-1")
    launching.join()
    ended = [each.ended for each in records.records(spec.root)]
    assert ended == ["preempted: its node was taken away", "succeeded"] and not cluster.left


@pytest.mark.parametrize("trains", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_two_nodes_work_together_and_one_that_goes_costs_an_attempt(
    cluster: FakeKubernetes, tmp_path: Path, trains: bool
) -> None:
    """Bodies that train nothing, or a real training; `test_sharding.py` has one on two nodes without a launcher."""
    spec = tiny_spec(tiny_root(tmp_path / "root"), steps=120, save_every=20, processes=2)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    recipe = recipe_in(tmp_path, Body(waits_after=50), nodes=2)
    if trains:
        recipe = replace(recipe, settings={**recipe.settings, "python": sys.executable})
    launching = threading.Thread(target=train, args=(spec, recipe))
    launching.start()
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    cluster.preempt(f"{post.name}-1", first=1)
    launching.join()
    ended = [each.ended for each in records.records(spec.root)]
    assert ended[1:] == ["succeeded"] and ended[0].startswith("preempted: ") and not cluster.left
    assert open_artifact(spec.root, checkpoint_target(spec, 120).path).verify()
    assert post.read_rendezvous().startswith(b"127.0.0.1:")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"quota": 'pods "x" is forbidden: exceeded quota: gpus'}, "exceeded quota: gpus"),
        ({"no_image": True}, "image image: ImagePullBackOff: Back-off pulling image: manifest unknown"),
    ],
)
def test_what_can_never_start_is_named_and_deleted(
    cluster: FakeKubernetes, tmp_path: Path, fault: dict[str, Any], said: str
) -> None:
    vars(cluster).update(fault)
    with pytest.raises(TrainingFailed, match=said):
        train(tiny_spec(tiny_root(tmp_path / "root")), recipe_in(tmp_path))
    assert not cluster.left


def test_a_job_without_a_free_node_is_cancelled_with_the_reason(cluster: FakeKubernetes, tmp_path: Path) -> None:
    cluster.full = True
    with pytest.raises(TrainingFailed, match=r"no heartbeat for 1 s .* 'waiting for a node: 0/3 nodes are available"):
        train(tiny_spec(tiny_root(tmp_path / "root")), recipe_in(tmp_path, silence_seconds=1))
    assert not cluster.left


def test_a_server_that_fails_to_answer_in_the_middle_is_asked_again(cluster: FakeKubernetes, tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), steps=60, save_every=10)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    launching = threading.Thread(target=train, args=(spec, recipe_in(tmp_path)))
    launching.start()
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    cluster.fail(429, 401, 0, 500)
    launching.join()
    assert [each.ended for each in records.records(spec.root)] == ["succeeded"] and not cluster.left


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (401, EnvironmentLacks, "expected permission to use it; found 401"),
        (422, TrainingFailed, "expected an accepted job; found 422"),
        (503, TrainingFailed, r"expected an answer within 1 s .*; found Kubernetes: 503"),
    ],
)
def test_a_server_that_refuses_is_named(
    cluster: FakeKubernetes, tmp_path: Path, status: int, kind: type[MegacppError], said: str
) -> None:
    cluster.fail(status)
    with pytest.raises(kind, match=said):
        train(tiny_spec(tiny_root(tmp_path / "root")), recipe_in(tmp_path, silence_seconds=1))
    assert not cluster.left


@_ONE_LAUNCHER
def test_a_cancelled_job_saves_and_is_deleted(cluster: FakeKubernetes, launcher: str, tmp_path: Path) -> None:
    spec = spec_for(launcher, tiny_root(tmp_path / "root"), steps=20_000, save_every=10)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    messages: list[str] = []

    def wanted() -> None:
        try:
            train(spec, recipe_in(tmp_path, launcher=launcher))
        except TrainingFailed as error:
            messages.append(str(error))

    launching = threading.Thread(target=wanted)
    launching.start()
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    records.cancel(spec.root, f"{post.name}-1")
    launching.join()
    assert "a request to cancel it" in messages[0] and not cluster.left


def test_a_silent_job_is_cancelled_and_a_failed_one_says_why(cluster: FakeKubernetes, tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"))
    with pytest.raises(TrainingFailed, match="no heartbeat for 3 s"):
        train(spec, recipe_in(tmp_path, Body(hangs_after=5), silence_seconds=3))
    assert not cluster.left
    with pytest.raises(TrainingFailed, match="expected a finite number; found nan"):
        train(spec, recipe_in(tmp_path, Body(fails_after=7)))
    assert not cluster.left


def test_a_pod_that_dies_without_a_word_is_named_by_its_exit_code(cluster: FakeKubernetes, tmp_path: Path) -> None:
    recipe = recipe_in(tmp_path)
    Path(str(recipe.settings["python"])).write_text("#!/bin/sh\nexit 137\n")
    with pytest.raises(TrainingFailed, match="found exit code 137"):
        train(tiny_spec(tiny_root(tmp_path / "root")), recipe)
    assert not cluster.left


def test_the_manifest_asks_for_what_the_recipe_trains_on_and_holds_no_secret(
    tmp_path: Path, cluster: FakeKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY_OF_SOME_API", "canary-1234")
    spec = tiny_spec(tiny_root(tmp_path / "root"), device="cuda", processes=8, batch_rows=8)
    settings = {"image": IMAGE, "node_selector": "cloud/gke-accelerator=h200", "secret": "exchange-key"}
    launcher = open_launcher(LaunchRecipe("kubernetes", exchange="gs://bucket/x", settings=settings))
    plan = launcher.plan(AttemptOrder(TrainingJob.of(spec), 3, f"gs://bucket/x/jobs/{TrainingJob.of(spec).name}"))
    pod = yaml.safe_load(plan)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "8", "cpu": "8"}
    assert container["envFrom"] == [{"secretRef": {"name": "exchange-key"}}] and "ports" not in container
    assert pod["nodeSelector"] == {"cloud/gke-accelerator": "h200"} and pod["securityContext"]["runAsNonRoot"]
    assert not cluster.bodies, "a plan asks nobody"
    assert "canary" not in plan


def test_the_manifest_has_a_pod_a_node_with_its_share(tmp_path: Path, cluster: FakeKubernetes) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), device="cuda", processes=16, batch_rows=16)
    launcher = open_launcher(LaunchRecipe("kubernetes", exchange="gs://bucket/x", settings={"image": IMAGE}, nodes=2))
    job = yaml.safe_load(
        launcher.plan(AttemptOrder(TrainingJob.of(spec), 1, f"gs://bucket/x/jobs/{TrainingJob.of(spec).name}", nodes=2))
    )
    assert {name: job["spec"][name] for name in ("completionMode", "completions", "parallelism", "backoffLimit")} == {
        "completionMode": "Indexed", "completions": 2, "parallelism": 2, "backoffLimit": 0,
    }  # fmt: skip
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "8", "cpu": "8"}
    assert container["command"][-4:] == ["--nodes", "2", "--number-from", "JOB_COMPLETION_INDEX"]
    address = {"name": "MEGACPP_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert address in container["env"] and "ports" not in container


def test_an_image_without_a_digest_is_rejected(tmp_path: Path, cluster: FakeKubernetes) -> None:
    recipe = LaunchRecipe("kubernetes", exchange="gs://bucket/x", settings={"image": "megacpp:latest"})
    order = AttemptOrder(TrainingJob.of(tiny_spec(tiny_root(tmp_path / "root"))), 1, "gs://bucket/x/jobs/y")
    with pytest.raises(SpecError, match=r"launch.settings.image; expected NAME@sha256:DIGEST; found 'megacpp:latest'"):
        open_launcher(recipe).plan(order)


def test_no_secret_of_this_machine_reaches_what_the_server_or_the_job_gets(
    cluster: FakeKubernetes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY_OF_SOME_API", "canary-1234")
    spec = tiny_spec(tiny_root(tmp_path / "root"))
    train(spec, recipe_in(tmp_path))
    messages = b"".join(cluster.bodies)
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and file.name != "kubeconfig")
    assert b"megacpp_assets.launch.job.run_attempt" in messages
    assert b"canary" not in messages and b"canary" not in kept


def test_a_preemption_with_notice_loses_no_step(cluster: FakeKubernetes, tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "root"), steps=60, save_every=10)
    post = JobFolder(SharedFolder(tmp_path / "exchange"), TrainingJob.of(spec).name, 1)
    log = tmp_path / "steps"
    launching = threading.Thread(target=train, args=(spec, recipe_in(tmp_path, Body(log=str(log)))))
    launching.start()
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    cluster.preempt(f"{post.name}-1", signal.SIGTERM)
    launching.join()
    assert sorted(int(line.split()[1]) for line in log.read_text().splitlines()) == list(range(1, 61))
    assert not cluster.left


def test_the_manifest_of_a_slice_asks_for_its_chips_and_topology(tmp_path: Path, cluster: FakeKubernetes) -> None:
    spec = spec_for("gke_tpu", tiny_root(tmp_path / "root"))
    launcher = open_launcher(
        LaunchRecipe("gke_tpu", exchange="gs://bucket/x", settings={"image": IMAGE, "spot": 1, **TPU})
    )
    manifest = yaml.safe_load(
        launcher.plan(AttemptOrder(TrainingJob.of(spec), 1, f"gs://bucket/x/jobs/{TrainingJob.of(spec).name}"))
    )
    (slice_,) = manifest["spec"]["replicatedJobs"]
    pod = slice_["template"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["google.com/tpu"] == "4"
    assert pod["nodeSelector"] == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "2x2",
        "cloud.google.com/gke-spot": "true",
    }


@pytest.mark.parametrize("selector", ["h200", "pool=a,h200", "=a"])
def test_a_node_selector_of_another_form_is_rejected(selector: str) -> None:
    settings = {"image": IMAGE, "node_selector": selector}
    with pytest.raises(SpecError, match=r"launch.settings.node_selector; expected KEY=VALUE,…; found '.*'"):
        open_launcher(LaunchRecipe("kubernetes", exchange="gs://bucket/x", settings=settings))


def test_a_folder_that_no_pod_has_is_no_exchange(tmp_path: Path, launcher: str) -> None:
    recipe = recipe_in(tmp_path, launcher=launcher)
    recipe = replace(recipe, settings={name: text for name, text in recipe.settings.items() if name != "claim"})
    spec = spec_for(launcher, tiny_root(tmp_path / "root"))
    order = AttemptOrder(TrainingJob.of(spec), 1, f"{recipe.exchange}/jobs/x")
    with pytest.raises(SpecError, match=r"launch.settings.claim; expected a volume claim; found none"):
        open_launcher(recipe).plan(order)


@pytest.mark.parametrize(
    ("settings", "changes", "said"),
    [
        (
            {"topology": "4x4"},
            {},
            r"launch.settings.chips; expected 16, all of the topology 4x4; found 4",
        ),
        ({"topology": "four"}, {}, r"launch.settings.topology; expected chips along each side, .*; found 'four'"),
        ({"topology": "2x0", "chips": 0}, {}, r"launch.settings.topology; expected chips along each side"),
        ({}, {"batch_rows": 6}, r"training.batch_rows; expected a multiple of 1 parts x 4 devices; found 6"),
    ],
)
def test_a_slice_that_one_process_cannot_use_is_rejected(
    tmp_path: Path, cluster: FakeKubernetes, settings: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    launcher = open_launcher(
        LaunchRecipe("gke_tpu", exchange="gs://bucket/x", settings={"image": IMAGE, **TPU, **settings})
    )
    spec = spec_for("gke_tpu", tiny_root(tmp_path / "root"), **changes)
    with pytest.raises(SpecError, match=said):
        launcher.plan(AttemptOrder(TrainingJob.of(spec), 1, "gs://bucket/x/jobs/y"))


@pytest.mark.parametrize(
    ("name", "device", "expected"),
    [("gke_tpu", "cuda", "tpu"), ("gke_tpu", "cpu", "tpu"), ("kubernetes", "tpu", "cpu or cuda")],
)
def test_a_device_that_the_launcher_has_no_machine_for_is_rejected(
    tmp_path: Path, name: str, device: str, expected: str
) -> None:
    said = f"training.device on the launcher {name}; expected {expected}; found {device}"
    with pytest.raises(SpecError, match=said):
        launcher_for(recipe_in(tmp_path, launcher=name), tiny_spec(tmp_path, device=device).recipe)


def test_a_cluster_without_jobsets_is_named(tmp_path: Path, cluster: FakeKubernetes) -> None:
    cluster.no_jobsets = True
    with pytest.raises(SpecError, match=r"expected the resource jobsets.jobset.x-k8s.io; found none"):
        train(spec_for("gke_tpu", tiny_root(tmp_path / "root")), recipe_in(tmp_path, launcher="gke_tpu"))
