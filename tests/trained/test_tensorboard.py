"""Event files of TensorBoard: each step once, and what was measured on held-out files."""

from __future__ import annotations

import os
import struct
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from tensorboardX import SummaryWriter
from tensorboardX.proto.event_pb2 import Event

from megacpp_assets.contract.errors import EnvironmentLacks, TrainingFailed
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.trained.stage import TrainedCheckpointSpec, run
from megacpp_assets.trained.tensorboard import Events, events_folder, work_of
from megacpp_assets.training.checkpoints.record import StepMetrics, read_metrics
from megacpp_assets.training.job import LIVE_METRICS_FILE, TrainingJob
from megacpp_assets.training.loop import train
from megacpp_assets.training.network.model import GPT
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.processes.process import StopRequest
from tests.training.test_loop import ALONE
from tests.training.world import ROW_TOKENS, VOCABULARY, tiny_root, tiny_spec


@pytest.fixture
def spec(tmp_path: Path) -> TrainedCheckpointSpec:
    return replace(tiny_spec(tiny_root(tmp_path)), launch=LaunchRecipe(tensorboard=True))


def in_this_process(job: TrainingJob, directory: Path) -> None:
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


def test_the_event_files_have_every_step_and_measured_checkpoint(spec: TrainedCheckpointSpec) -> None:
    checkpoint = run(spec, launch=in_this_process)
    found = scalars(events_folder(spec))
    losses = [(metrics.step, pytest.approx(metrics.loss)) for metrics in read_metrics(checkpoint)]
    assert found["loss/train_nats_per_token"] == losses and len(losses) == 12
    assert [step for step, _ in found["validation/validation_bits_per_byte"]] == [4, 8, 12]
    assert found["learning_rate"][1] == (2, pytest.approx(1e-2)), "the warm-up is two steps"
    assert events_folder(spec) == spec.root / "tensorboard/tiny_v1/base/4k"


def test_speed_is_written_for_the_steps_since_the_last_call(spec: TrainedCheckpointSpec, tmp_path: Path) -> None:
    spec = replace(spec, launch=replace(spec.launch, peak_teraflops=0.5))
    metrics, folder, work = tmp_path / "metrics.jsonl", tmp_path / "events", work_of(spec)
    model = GPT(model_config(spec.recipe, VOCABULARY))
    tables = sum(each.numel() for name, each in model.named_parameters() if name.endswith(".table"))
    assert work.operations == 6 * (sum(each.numel() for each in model.parameters()) - tables)
    assert 0 < work.tokens <= spec.recipe.batch_rows * ROW_TOKENS and work.peak == 0.5e12 * spec.recipe.processes
    writer = SummaryWriter(str(folder))
    events = Events(spec, metrics, writer, work)
    events.write_new_steps()
    for steps, at in ((2, 1000.0), (2, 1000.5), (6, 1002.0)):
        metrics.write_text("".join(StepMetrics(step, 1.0, 7).to_line() for step in range(1, steps + 1)))
        os.utime(metrics, (at, at))
        events.write_new_steps()
    writer.close()
    found = scalars(folder)
    tokens = work.tokens * 4 / 2.0
    assert found["speed/tokens_per_second"] == [(6, pytest.approx(tokens))], "4 steps in the 2 s since the first look"
    assert found["speed/model_teraflops"] == [(6, pytest.approx(tokens * work.operations / 1e12))]
    assert found["speed/mfu"] == [(6, pytest.approx(tokens * work.operations / work.peak))]


def test_utilization_is_not_reported_without_a_stated_peak(spec: TrainedCheckpointSpec) -> None:
    assert set(work_of(spec).rates(1, 1.0)) == {"speed/tokens_per_second", "speed/model_teraflops"}


def test_a_resumed_run_has_each_step_once(spec: TrainedCheckpointSpec) -> None:
    def stopped(job: TrainingJob, directory: Path) -> None:
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

    def refuse(job: TrainingJob, directory: Path) -> None:
        raise AssertionError("nothing should be launched")

    with pytest.raises(
        EnvironmentLacks, match=r"tensorboardX; found none; what to do: .*megacpp-assets\[tensorboard\]"
    ):
        run(spec, launch=refuse)


def test_without_the_setting_nothing_is_written(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path))
    run(spec, launch=in_this_process)
    assert not (spec.root / "tensorboard").exists()
