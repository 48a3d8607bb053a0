"""Event files of TensorBoard: each step once, and what was measured on held-out files."""

from __future__ import annotations

import struct
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event

from megacpp_assets.contract.errors import EnvironmentLacks, TrainingFailed
from megacpp_assets.contract.recipe.training import LaunchRecipe
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.job import LIVE_METRICS_FILE, Job
from megacpp_assets.training.loop import train
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.stage import TrainedCheckpointSpec, run
from megacpp_assets.training.tensorboard import events_folder
from tests.training.test_loop import ALONE
from tests.training.world import tiny_root, tiny_spec


@pytest.fixture
def spec(tmp_path: Path) -> TrainedCheckpointSpec:
    return replace(tiny_spec(tiny_root(tmp_path)), launch=LaunchRecipe(tensorboard=True))


def in_this_process(job: Job, directory: Path) -> None:
    train(job.spec(), ALONE, StopRequest(), live_metrics=directory / LIVE_METRICS_FILE)


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """(step, value) by tag, of all event files of the folder, in their order."""
    found = defaultdict(list)
    for file in sorted(folder.iterdir()):
        data = file.read_bytes()
        while data:
            size = struct.unpack("<Q", data[:8])[0]  # TFRecord: length, its checksum, the bytes, their checksum
            event = Event.FromString(data[12 : 12 + size])
            for value in event.summary.value:
                found[value.tag].append((event.step, value.simple_value))
            data = data[16 + size :]
    return found


def test_every_step_and_every_measured_checkpoint_stands_in_the_event_files(spec: TrainedCheckpointSpec) -> None:
    checkpoint = run(spec, launch=in_this_process)
    found = scalars(events_folder(spec))
    losses = [(metrics.step, pytest.approx(metrics.loss)) for metrics in read_metrics(checkpoint)]
    assert found["loss/train_nats_per_token"] == losses and len(losses) == 12
    assert [step for step, _ in found["validation/validation_bits_per_byte"]] == [4, 8, 12]
    assert found["learning_rate"][1] == (2, pytest.approx(1e-2)), "the warm-up is two steps"
    assert events_folder(spec) == spec.root / "tensorboard/tiny_v1/base/4k"


def test_a_run_that_goes_on_has_each_step_once(spec: TrainedCheckpointSpec) -> None:
    def stopped(job: Job, directory: Path) -> None:
        stop = StopRequest()
        stop.asked = True
        train(job.spec(), ALONE, stop, live_metrics=directory / LIVE_METRICS_FILE)

    with pytest.raises(TrainingFailed):
        run(spec, launch=stopped)
    assert [step for step, _ in scalars(events_folder(spec))["tokens/step"]] == [1]
    run(spec, launch=in_this_process)
    assert [step for step, _ in scalars(events_folder(spec))["tokens/step"]] == list(range(1, 13))


def test_without_the_package_nothing_is_launched_and_the_extra_is_named(
    spec: TrainedCheckpointSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)

    def refuse(job: Job, directory: Path) -> None:
        raise AssertionError("nothing should be launched")

    with pytest.raises(
        EnvironmentLacks, match=r"tensorboardX; found none; what to do: .*megacpp-assets\[tensorboard\]"
    ):
        run(spec, launch=refuse)


def test_without_the_setting_nothing_is_written(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path))
    run(spec, launch=in_this_process)
    assert not (spec.root / "tensorboard").exists()
