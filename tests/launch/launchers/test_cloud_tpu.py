"""Training on a Cloud TPU machine, whose API is one of the tests that runs the startup script as a process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from gcp_storage_emulator.server import create_server

from megacpp_assets.contract.errors import EnvironmentLacks, MegacppError, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.drive import drive
from megacpp_assets.launch.launcher import AttemptOrder
from megacpp_assets.launch.protocol.job_folder import Ended, JobFolder
from megacpp_assets.launch.protocol.open_exchange import open_exchange
from megacpp_assets.launch.registry import launcher_for, open_launcher
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.trained.stage import run
from megacpp_assets.training.job import TrainingJob
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.launch.launchers.fake_tpu import FakeTpu
from tests.launch.quick import Body, quick_python
from tests.training.waiting import wait_for
from tests.training.world import tiny_root, tiny_spec

IMAGE = f"registry.example/megacpp@sha256:{'0' * 64}"
EXCHANGE = "gs://bucket/corpora"


@pytest.fixture
def tpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTpu]:
    storage = create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
    storage.start()
    url = f"http://127.0.0.1:{storage._api._httpd.server_address[1]}"
    api = FakeTpu(tmp_path, url)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "none")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(api.credentials()))
    yield api
    api.close()
    storage.stop()


def recipe_in(tpu: FakeTpu, body: Body | None = None, **changes: Any) -> LaunchRecipe:
    place = {"project": "p", "zone": "z", "api": tpu.url, "scratch": str(tpu.folder / "scratch")}
    machine = {"accelerator": "v6e-1", "runtime": "v2-alpha-tpuv6e", "spot": 1}
    python = quick_python(tpu.folder / "python", body)
    values = {"silence_seconds": 60, "look_seconds": 0.2, "exchange": EXCHANGE} | changes
    return LaunchRecipe("cloud_tpu", settings={**place, **machine, "image": IMAGE, "python": python}, **values)


def tpu_spec(root: Path, **changes: Any) -> TrainedCheckpointSpec:
    """The tiny training, on TPUs."""
    return tiny_spec(root, **({"device": "tpu"} | changes))


def train(spec: TrainedCheckpointSpec, recipe: LaunchRecipe) -> None:
    run(spec, launch=partial(drive, open_launcher(recipe), recipe))


def post_of(spec: TrainedCheckpointSpec) -> JobFolder:
    return JobFolder(open_exchange(EXCHANGE), TrainingJob.of(spec).name, 1)


def test_a_machine_brings_its_checkpoint_and_is_given_back_and_no_token_reaches_what_is_kept(
    tpu: FakeTpu, tmp_path: Path
) -> None:
    spec = tpu_spec(tiny_root(tmp_path / "root"))
    train(spec, recipe_in(tpu))
    assert open_artifact(spec.root, checkpoint_target(spec, 12).path).verify()
    assert not tpu.left and not list((tmp_path / "scratch").glob("*/*"))
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert tpu.tokens >= 2 and b"canary" not in kept and b"canary" not in b"".join(tpu.bodies)


def test_a_machine_taken_away_costs_an_attempt(tpu: FakeTpu, tmp_path: Path) -> None:
    spec = tpu_spec(tiny_root(tmp_path / "root"), steps=60, save_every=10)
    launching = threading.Thread(target=train, args=(spec, recipe_in(tpu)))
    launching.start()
    post = post_of(spec)
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    tpu.preempt(f"{post.name}-1")
    launching.join()
    ended = [each.ended for each in records.records(spec.root)]
    assert ended == ["preempted: its queued resource is SUSPENDED", "succeeded"] and not tpu.left


def test_a_machine_whose_launcher_is_gone_gives_itself_back(tpu: FakeTpu, tmp_path: Path) -> None:
    spec = tpu_spec(tiny_root(tmp_path / "root"), steps=20_000, save_every=10)
    recipe = recipe_in(tpu, Body(waits_after=15), lease_seconds=2)
    launching = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import json, sys; from tests.launch.launchers.test_cloud_tpu import *;"
            "train(tpu_spec(Path(sys.argv[1]), steps=20_000, save_every=10), LaunchRecipe(**json.loads(sys.argv[2])))",
            *(str(spec.root), json.dumps(asdict(recipe))),
        ]
    )
    post = post_of(spec)
    wait_for(lambda: post.read_sealed() or launching.poll() is not None, pause=0.3)
    launching.kill()
    launching.wait()
    wait_for(lambda: not tpu.left)
    assert post.read_ended() == Ended(75, "its lease is over")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"refused": "Quota 'TPUV6EPerProject' exhausted. Limit 0 in zone z"}, "Quota 'TPUV6EPerProject' exhausted"),
        ({"no_image": True}, "found exit code 125: its container ended without a word of the job"),
    ],
)
def test_what_can_never_start_is_named_and_given_back(
    tpu: FakeTpu, tmp_path: Path, fault: dict[str, Any], said: str
) -> None:
    vars(tpu).update(fault)
    with pytest.raises(TrainingFailed, match=said):
        train(tpu_spec(tiny_root(tmp_path / "root")), recipe_in(tpu))
    assert not tpu.left


def test_a_zone_without_capacity_is_named_when_the_job_is_cancelled(tpu: FakeTpu, tmp_path: Path) -> None:
    tpu.full = True
    with pytest.raises(TrainingFailed, match=r"no heartbeat for 1 s .* 'waiting for a TPU: WAITING_FOR_RESOURCES'"):
        train(tpu_spec(tiny_root(tmp_path / "root")), recipe_in(tpu, silence_seconds=1))
    assert not tpu.left


def test_an_api_that_fails_to_answer_in_the_middle_is_asked_again(tpu: FakeTpu, tmp_path: Path) -> None:
    spec = tpu_spec(tiny_root(tmp_path / "root"), steps=60, save_every=10)
    launching = threading.Thread(target=train, args=(spec, recipe_in(tpu)))
    launching.start()
    post = post_of(spec)
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    tpu.fail(429, 401, 0, 500)
    launching.join()
    assert [each.ended for each in records.records(spec.root)] == ["succeeded"] and not tpu.left


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (403, EnvironmentLacks, "expected permission to use it; found 40"),
        pytest.param(
            429,
            TrainingFailed,
            r"expected an answer within 1 s .*; found Cloud TPU: .*429",
            marks=pytest.mark.campaign,
        ),
        (500, TrainingFailed, r"expected an answer within 1 s .*; found Cloud TPU: "),
    ],
)
def test_an_api_that_refuses_is_named(
    tpu: FakeTpu, tmp_path: Path, status: int, kind: type[MegacppError], said: str
) -> None:
    tpu.fail(status)
    with pytest.raises(kind, match=said):
        train(tpu_spec(tiny_root(tmp_path / "root")), recipe_in(tpu, silence_seconds=1))
    assert not tpu.left


@pytest.mark.campaign
def test_a_cancelled_machine_saves_and_is_given_back(tpu: FakeTpu, tmp_path: Path) -> None:
    spec = tpu_spec(tiny_root(tmp_path / "root"), steps=20_000, save_every=10)
    messages: list[str] = []

    def wanted() -> None:
        try:
            train(spec, recipe_in(tpu))
        except TrainingFailed as error:
            messages.append(str(error))

    launching = threading.Thread(target=wanted)
    launching.start()
    post = post_of(spec)
    wait_for(lambda: post.read_sealed() or not launching.is_alive())
    records.cancel(spec.root, f"{post.name}-1")
    launching.join()
    assert "a request to cancel it" in messages[0] and not tpu.left


def test_the_plan_is_the_request_and_holds_no_secret(tpu: FakeTpu, tmp_path: Path) -> None:
    spec = tpu_spec(tiny_root(tmp_path / "root"))
    order = AttemptOrder(TrainingJob.of(spec), 2, f"{EXCHANGE}/jobs/{TrainingJob.of(spec).name}")
    plan = open_launcher(recipe_in(tpu)).plan(order)
    assert plan.startswith(f"POST {tpu.url}/v2/projects/p/locations/z/queuedResources?queuedResourceId={order.name}\n")
    for words in ('"acceleratorType": "v6e-1"', '"spot": {}', '"enableExternalIps": false', f"IMAGE={IMAGE}\n"):
        assert words in plan
    assert "canary" not in plan and not tpu.bodies, "a plan asks nobody"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_device_that_no_tpu_machine_is_for_is_rejected(tpu: FakeTpu, tmp_path: Path, device: str) -> None:
    recipe = recipe_in(tpu)
    said = rf"training.device on the launcher cloud_tpu; expected tpu; found {device}; what to do: set training.dev"
    with pytest.raises(SpecError, match=said):
        launcher_for(recipe, tpu_spec(tmp_path, device=device).recipe)


@pytest.mark.parametrize(
    ("accelerator", "changes", "place", "said"),
    [
        ("v6e-1", {}, "file:///there", "expected gs://BUCKET/FOLDER; found file:///there"),
        (
            "v6e-16",
            {},
            EXCHANGE,
            r"launch.settings.accelerator; expected a type of one host, .*; found 'v6e-16'; .*take",
        ),
        ("TPUv6", {}, EXCHANGE, r"launch.settings.accelerator; expected a type of one host, .*; found 'TPUv6'"),
        ("v5litepod-4", {}, EXCHANGE, r"training.batch_rows; expected a multiple of 1 parts x 4 devices; found 2"),
        (
            "v4-8",
            {"batch_rows": 6},
            EXCHANGE,
            r"training.batch_rows; expected a multiple of 1 parts x 4 dev.*; found 6",
        ),
    ],
)
def test_what_no_machine_can_do_is_rejected_before_one_is_asked_for(
    tpu: FakeTpu, tmp_path: Path, accelerator: str, changes: dict[str, Any], place: str, said: str
) -> None:
    recipe, spec = recipe_in(tpu), tpu_spec(tiny_root(tmp_path / "root"), **changes)
    launcher = open_launcher(replace(recipe, settings={**recipe.settings, "accelerator": accelerator}))
    with pytest.raises(SpecError, match=said):
        launcher.plan(AttemptOrder(TrainingJob.of(spec), 1, f"{place}/jobs/x"))
