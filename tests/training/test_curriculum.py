"""A phase of the curriculum starts from the weights that the one before it ended with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root import layout
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.loop import train
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.loader.rows_artifact import DATASET, publish_rows, random_rows
from tests.training.world import VOCABULARY, tensors_of, tiny_root, tiny_spec, tree_hashes

LATER = Mixture("base", "16k")


def run(spec: TrainedCheckpointSpec, stop_after: int | None = None) -> None:
    stop = StopRequest()

    def report(metrics: object) -> None:
        stop.asked = getattr(metrics, "step", None) == stop_after

    train(spec, Ranks(0, 1, torch.device("cpu")), stop, live_metrics=spec.root / "live.jsonl", report=report)


def later(first: TrainedCheckpointSpec) -> TrainedCheckpointSpec:
    return replace(first, mixture=LATER, phase_before="4k")


@pytest.fixture
def first(tmp_path: Path) -> TrainedCheckpointSpec:
    """A trained phase, and rows twice as long for the next one."""
    spec = tiny_spec(tiny_root(tmp_path))
    publish_rows(
        tmp_path,
        random_rows(rows=6, row_tokens=128, vocabulary=VOCABULARY, seed=2),
        128,
        inputs=(layout.tokenizer_path(DATASET),),
        mixture=LATER,
    )
    return spec


def test_a_phase_starts_with_the_trained_weights_of_the_previous_one(first: TrainedCheckpointSpec) -> None:
    run(first)
    run(later(first))
    alone = replace(later(first), phase_before="", dataset_version="tiny_v1", dataset=first.dataset)
    started = open_artifact(first.root, checkpoint_target(later(first), 12).path)
    assert [ref.path for ref in started.manifest.inputs][-1] == checkpoint_target(first, 12).path
    losses = {True: read_metrics(started)[0].loss}
    run(alone)
    losses[False] = read_metrics(open_artifact(first.root, checkpoint_target(alone, 12).path))[0].loss
    assert losses[True] < losses[False] - 0.1


def test_a_phase_resets_its_moments_and_an_interruption_changes_no_byte(first: TrainedCheckpointSpec) -> None:
    run(first)
    run(later(first))
    whole = tree_hashes(first.root, "checkpoints")
    ends = [open_artifact(first.root, checkpoint_target(spec, 12).path) for spec in (first, later(first))]
    assert tensors_of(ends[0]).keys() == tensors_of(ends[1]).keys()
    for step in (4, 8, 12):
        (first.root / checkpoint_target(later(first), step).path / "_COMPLETE").unlink()
    run(later(first), stop_after=6)
    run(later(first))
    assert tree_hashes(first.root, "checkpoints") == whole


def test_a_phase_does_not_start_without_the_previous_one(first: TrainedCheckpointSpec) -> None:
    with pytest.raises(LineageGap, match="checkpoints/tiny_v1/base/4k/step_00000012"):
        run(later(first))
