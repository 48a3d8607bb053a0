"""Launchers x faults x tries: what each leaves behind, and how many steps it costs.

`python -m tests.launch.launchers.faults --tries 5 --work FOLDER` prints a line for each fault of each launcher. A try
launches a training in a process of its own, lets the fault happen once its first checkpoint is safe, and launches it
again where that did not end well. The training must then be complete. Counted are resources of the provider and
processes that are left, records that are open, and steps that were trained again although a checkpoint held them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from gcp_storage_emulator.server import create_server

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.drive import drive
from megacpp_assets.launch.protocol.job_folder import JobFolder
from megacpp_assets.launch.protocol.open_exchange import open_exchange
from megacpp_assets.launch.registry import open_launcher
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.trained.stage import run
from megacpp_assets.training.checkpoints.resume import newest_checkpoint
from megacpp_assets.training.job import TrainingJob
from megacpp_assets.training.processes import training_processes
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.launch.launchers import fake_slurm
from tests.launch.launchers.cluster import fake_cluster
from tests.launch.launchers.fake_kubernetes import FakeKubernetes
from tests.launch.launchers.fake_tpu import FakeTpu
from tests.launch.quick import Body, quick_python
from tests.training.waiting import wait_for
from tests.training.world import tiny_root, tiny_spec

STEPS: Mapping[str, Any] = {"steps": 60, "save_every": 10}
IMAGE = f"registry.example/megacpp@sha256:{'0' * 64}"
ON_TPU: Mapping[str, Any] = {"device": "tpu", "batch_rows": 4}
"""Of a training by a launcher whose machines have TPUs."""
FAULTS = ("failure", "preemption", "hang", "lost API", "cancel", "kill of the launcher")
_AT = 25
"""The step after which a body fails or falls silent."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Where jobs run: the launcher's settings, and what a test may do to it."""

    launcher: str
    settings: Mapping[str, Any]
    exchange: str
    left: Callable[[], list[str]]
    preempt: Callable[[str], None]
    lose: Callable[[bool], None] | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a fault left behind, how many steps it cost beyond the last checkpoint, and how many commands it took."""

    left: list[str]
    lost: int
    commands: int


@contextmanager
def provider(launcher: str, folder: Path, python: str) -> Iterator[Provider]:
    """One of its kind in `folder`, with `python` on its machines; the environment leads to it meanwhile."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as open_:
        patch.setenv("GOOGLE_CLOUD_PROJECT", "none")
        folder_exchange, common = (folder / "exchange").as_uri(), {"python": python, "scratch": str(folder / "scratch")}
        if launcher == "local":
            yield Provider("local", {}, "", list, lambda name: _kill_bodies(folder), None)
        elif launcher == "slurm":
            open_.enter_context(fake_cluster(folder, patch))
            away = folder / "away"
            (folder / fake_slurm.KILL_WAIT).write_text("5")
            lose = lambda lost: away.touch() if lost else away.unlink()  # noqa: E731
            preempt = partial(fake_slurm.preempt, folder)
            yield Provider("slurm", common, folder_exchange, partial(_queued, folder), preempt, lose)
        elif launcher == "cloud_tpu":
            storage = create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
            storage.start()
            open_.callback(storage.stop)
            url = f"http://127.0.0.1:{storage._api._httpd.server_address[1]}"
            tpu = FakeTpu(folder, url)
            open_.callback(tpu.close)
            patch.setenv("STORAGE_EMULATOR_HOST", url)
            patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tpu.credentials()))
            place = {"project": "p", "zone": "z", "api": tpu.url, "image": IMAGE}
            settings = {**common, **place, "accelerator": "v6e-1", "runtime": "v2-alpha-tpuv6e"}
            lose = lambda lost: tpu.fail(0) if lost else tpu.work()  # noqa: E731
            yield Provider("cloud_tpu", settings, "gs://bucket/x", lambda: tpu.left, tpu.preempt, lose)
        else:
            api = FakeKubernetes(folder)
            open_.callback(api.close)
            patch.setenv("KUBECONFIG", str(api.kubeconfig()))
            slice_ = {"accelerator": "tpu-v6e-slice", "topology": "2x2", "chips": 4} if launcher == "gke_tpu" else {}
            settings = {**common, **slice_, "image": IMAGE, "claim": "shared"}
            lose = lambda lost: api.fail(0) if lost else api.work()  # noqa: E731
            yield Provider(launcher, settings, folder_exchange, lambda: api.left, api.preempt, lose)


def attempt(launcher: str, fault: str, folder: Path) -> Outcome:
    """One try."""
    python, log = folder / "python", folder / "steps"
    bad = {"failure": Body(log=str(log), fails_after=_AT), "hang": Body(log=str(log), hangs_after=_AT)}
    body = bad.get(fault, Body(log=str(log)))
    spec = _spec(launcher, tiny_root(folder / "root"))
    name = f"{TrainingJob.of(spec).name}-1"
    with provider(launcher, folder, quick_python(python, body)) as where:
        silence = 6 if fault in ("hang", "lost API") else 60
        recipe = LaunchRecipe(
            launcher,
            silence_seconds=silence,
            look_seconds=0.1,
            exchange=where.exchange,
            lease_seconds=3,
            settings=dict(where.settings),
        )
        command = _launch(spec, recipe, body)
        safe = wait_for(lambda: _saved(spec, where) or (command.poll() is not None and -1))
        assert safe > 0, f"the launch ended first, with code {command.returncode}"
        _happen(fault, where, spec, name, command)
        ended = command.wait(300)
        if fault == "lost API" and where.lose:
            where.lose(False)
        if ended:
            quick_python(python, Body(log=str(log)))
            assert _launch(spec, recipe, Body(log=str(log))).wait(300) == 0, "the next command completes it"
        assert find_artifact(spec.root, checkpoint_target(spec, spec.recipe.steps).path), "it is complete"
        lost = _lost(log, safe)
        left = _left(where, spec, folder)
        return Outcome(left, lost, 1 + bool(ended))


def _spec(launcher: str, root: Path) -> TrainedCheckpointSpec:
    return tiny_spec(root, **STEPS, **(ON_TPU if launcher in ("cloud_tpu", "gke_tpu") else {}))


def _happen(fault: str, where: Provider, spec: TrainedCheckpointSpec, name: str, command: Any) -> None:
    if fault == "preemption":
        where.preempt(name)
    elif fault == "lost API" and where.lose:
        where.lose(True)
    elif fault == "cancel":
        records.cancel(spec.root, name)
    elif fault == "kill of the launcher":
        command.kill()


def _launch(spec: TrainedCheckpointSpec, recipe: LaunchRecipe, body: Body) -> subprocess.Popen[bytes]:
    words = [str(spec.root), json.dumps(asdict(recipe)), json.dumps(asdict(body))]
    with (spec.root.parent / "launch.log").open("ab") as log:
        command = [sys.executable, "-m", "tests.launch.launchers.faults", "--launch", *words]
        return subprocess.Popen(command, stdout=log, stderr=log)


def _launched(root: str, recipe: str, body: str) -> int:
    """The launching process."""
    options = LaunchRecipe(**json.loads(recipe))
    spec = replace(_spec(options.launcher, Path(root)), launch=options)
    if options.launcher == "local":
        training_processes.command = lambda job, directory, node: [  # type: ignore[assignment]
            *(sys.executable, "-m", "tests.launch.quick", body),
            *("--train", str(directory)),
        ]
    try:
        run(spec, launch=partial(drive, open_launcher(options), options))
    except MegacppError as error:
        print(error)
        return 1
    return 0


def _saved(spec: TrainedCheckpointSpec, where: Provider) -> int:
    """The newest step that is safe, 0 before the first."""
    if where.exchange:
        sealed = JobFolder(open_exchange(where.exchange), TrainingJob.of(spec).name, 1).read_sealed()
        return sealed[-1].step if sealed else 0
    newest, _ = newest_checkpoint(spec)
    return int(newest.manifest.stats["steps"]) if newest else 0


def _lost(log: Path, safe: int) -> int:
    """Steps trained again although the checkpoint `safe` held them."""
    times = Counter(int(line.split()[1]) for line in log.read_text().splitlines())
    return sum(1 for step, count in times.items() if step <= safe and count > 1)


def _left(where: Provider, spec: TrainedCheckpointSpec, folder: Path) -> list[str]:
    """What is there a while later."""

    def found() -> list[str]:
        lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
        open_ = [record.name for record in records.records(spec.root) if not record.ended]
        return [*where.left(), *open_, *(line for line in lines if str(folder) in line)]

    try:
        wait_for(lambda: not found(), seconds=10)
    except AssertionError:
        return found()
    return []


def _queued(folder: Path) -> list[str]:
    return [job.name for job in (folder / "jobs").glob("*") if not (job / "state").exists()]


def _kill_bodies(folder: Path) -> None:
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or ()
        if "--train" in line and str(folder) in line[-1]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--launch"]:
        return _launched(*arguments[1:])
    parser = argparse.ArgumentParser(prog="tests.launch.launchers.faults")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--launchers", default="local,slurm,kubernetes,gke_tpu,cloud_tpu")
    options = parser.parse_args(arguments)
    bad = 0
    for launcher in options.launchers.split(","):
        for fault in FAULTS:
            if (launcher, fault) == ("local", "lost API"):
                continue  # it has none
            outcomes = []
            for _ in range(options.tries):
                with tempfile.TemporaryDirectory(dir=options.work) as folder:
                    outcomes.append(attempt(launcher, fault, Path(folder)))
            left, lost = [each for outcome in outcomes for each in outcome.left], sum(each.lost for each in outcomes)
            bad += bool(left) + bool(lost)
            row = {"launcher": launcher, "fault": fault, "tries": options.tries, "left": len(left), "steps lost": lost}
            print(json.dumps({**row, "commands": [each.commands for each in outcomes]}), flush=True)
            for each in left:
                print(f"  {each}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[3]))
    sys.exit(main(sys.argv[1:]))
