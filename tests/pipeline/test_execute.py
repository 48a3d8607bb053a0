"""A step counts as done only when its artifact is current and its checks passed; inputs must have been checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.pipeline.execute import execute, finished, first_failure
from megacpp_assets.pipeline.receipts import read_receipt
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.publish import Publication, Target, publish


def _step(root: Path, name: str, *, passes: bool = True, inputs: tuple[str, ...] = ()) -> Step:
    target = Target(root, name, "stage", name, "1", {}, inputs)

    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        publication.write("data", name.encode())
        return {}

    return Step(
        stage="stage",
        partition=name,
        target=lambda: target,
        run=lambda _progress: publish(target, produce),
        check=lambda _artifact: [CheckResult("holds", passes, "it holds", str(passes))],
    )


def test_a_step_is_finished_after_it_ran_and_passed(tmp_path: Path) -> None:
    step = _step(tmp_path, "a")
    assert finished(step) is None
    done = execute(step)
    again = finished(step)
    assert again is not None
    assert again.artifact.manifest == done.artifact.manifest


def test_a_failed_check_leaves_the_step_unfinished_though_its_artifact_is_whole(tmp_path: Path) -> None:
    step = _step(tmp_path, "a", passes=False)
    assert not execute(step).receipt.passed
    assert finished(step) is None
    open_artifact(tmp_path, "a").verify()


def test_a_check_that_only_warns_stops_nothing_and_is_told(tmp_path: Path) -> None:
    step = replace(
        _step(tmp_path, "a"), check=lambda _artifact: [CheckResult("likely", False, "most", "few", blocking=False)]
    )
    receipt = execute(step).receipt
    assert receipt.passed and [warning.name for warning in receipt.warnings] == ["likely"]
    again = finished(step)
    assert again is not None and again.receipt == receipt
    execute(_step(tmp_path, "b", inputs=("a",)))


def test_the_first_unfinished_steps_failed_check_is_told_with_what_it_found(tmp_path: Path) -> None:
    good, bad, later = _step(tmp_path, "a"), _step(tmp_path, "b", passes=False), _step(tmp_path, "c")
    execute(good)
    assert first_failure([good]) is None
    execute(bad)
    assert str(first_failure([good, bad, later])).startswith("stage b, check holds; expected it holds; found False")


def test_an_input_that_failed_its_checks_stops_the_next_step(tmp_path: Path) -> None:
    execute(_step(tmp_path, "a", passes=False))
    with pytest.raises(CheckFailed, match="holds"):
        execute(_step(tmp_path, "b", inputs=("a",)))


def test_an_input_that_was_never_checked_stops_the_next_step(tmp_path: Path) -> None:
    _step(tmp_path, "a").run(lambda done, total: None)
    with pytest.raises(CheckFailed, match="never checked"):
        execute(_step(tmp_path, "b", inputs=("a",)))


def test_a_receipt_is_of_one_manifest_only(tmp_path: Path) -> None:
    execute(_step(tmp_path, "a"))
    other = publish(Target(tmp_path, "a", "stage", "a", "2", {}), lambda publication, inputs: {})
    assert read_receipt(other) is None


def test_a_receipt_tells_what_the_step_cost(tmp_path: Path) -> None:
    receipt = execute(_step(tmp_path, "a")).receipt
    assert receipt.peak_bytes > 1_000_000
    assert receipt.seconds >= 0
