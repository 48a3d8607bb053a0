"""A step counts as done only when its artifact is current and its checks passed; inputs must have been checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.contract.recipe.text import key_paths, load_recipe
from megacpp_assets.contract.step import CheckResult, Progress, silent
from megacpp_assets.pipeline.execute import execute, finished, require_passed, result_of
from megacpp_assets.pipeline.receipts import read_receipt
from megacpp_assets.pipeline.stages import STAGES
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.publish import Publication, Target, publish


@dataclass
class _Step:
    """A step without a stage: it publishes its own name, and its one check gets the value that it finds."""

    root: Path
    name: str
    passes: bool = True
    inputs: tuple[str, ...] = ()
    blocking: bool = True
    made: int = 0
    check_names: frozenset[str] = frozenset({"holds"})
    rules: str = ""

    def target(self) -> Target:
        return Target(self.root, self.name, "stage", self.name, "1", {}, self.inputs)

    def run(self, _progress: Progress) -> Artifact:
        return publish(self.target(), self._produce)

    def rules_behind(self, _check: str) -> str:
        return self.rules

    def check(self, _artifact: Artifact) -> Sequence[CheckResult]:
        return [CheckResult("holds", self.passes, "it holds", str(self.passes), self.blocking)]

    def _produce(self, publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        self.made += 1
        publication.write("data", self.name.encode())
        return {}


_step: Any = _Step


def test_a_step_is_finished_after_it_ran_and_passed(tmp_path: Path) -> None:
    step = _step(tmp_path, "a")
    assert finished(step) is None
    done = execute(step)
    again = finished(step)
    assert again is not None
    assert again.artifact.manifest == done.artifact.manifest


def test_a_step_that_a_new_check_has_not_seen_is_checked_again_and_not_made_again(tmp_path: Path) -> None:
    step = _step(tmp_path, "a")
    execute(step)
    step.check_names = frozenset({"holds", "is new"})
    assert finished(step) is None
    execute(step)
    assert step.made == 1


def test_a_failed_check_leaves_the_step_unfinished_though_its_artifact_is_whole(tmp_path: Path) -> None:
    step = _step(tmp_path, "a", passes=False)
    assert not execute(step).receipt.passed
    assert finished(step) is None
    open_artifact(tmp_path, "a").verify()


def test_a_check_that_only_warns_stops_nothing_and_is_reported(tmp_path: Path) -> None:
    step = _step(tmp_path, "a", passes=False, blocking=False)
    receipt = execute(step).receipt
    assert receipt.passed and [warning.name for warning in receipt.warnings] == ["holds"]
    again = finished(step)
    assert again is not None and again.receipt == receipt
    execute(_step(tmp_path, "b", inputs=("a",)))


def test_a_failed_check_is_reported_with_what_it_found_and_what_the_next_run_does(tmp_path: Path) -> None:
    good, bad = _step(tmp_path, "a"), _step(tmp_path, "b", passes=False)
    for step in (good, bad):
        execute(step)
    require_passed(good, result_of(good))
    with pytest.raises(CheckFailed, match=r"^b, check holds; expected it holds; found False; what to do: the next run"):
        require_passed(bad, result_of(bad))


def test_the_advice_for_a_check_that_depends_on_the_recipe_names_the_recipes_rules_first(tmp_path: Path) -> None:
    step = _step(tmp_path, "b", passes=False, rules="[curation]")
    execute(step)
    with pytest.raises(CheckFailed, match=r"what to do: change \[curation\] of the recipe, .*; the next run makes it"):
        require_passed(step, result_of(step))


def test_a_step_knows_which_rules_of_the_recipe_can_make_a_check_fail(tmp_path: Path) -> None:
    step = Step(Corpus(tmp_path, CorpusLock("sample", ""), load_recipe("sample")), STAGES["curated_files"], "lib@v1")
    assert step.rules_behind("files_are_kept") == "[curation]"
    assert step.rules_behind("counts_agree") == step.rules_behind("no such check") == ""


@pytest.mark.parametrize("stage", STAGES)
def test_the_rules_behind_a_check_are_sections_or_keys_of_the_recipe(stage: str) -> None:
    known = {*key_paths(), *(f"[{path}]" for path in key_paths())}
    named = [name for check in STAGES[stage].quality.CHECKS if check.recipe for name in check.recipe.split(" and ")]
    assert set(named) <= known


def test_what_failed_its_checks_is_made_anew_and_what_passed_them_is_not(tmp_path: Path) -> None:
    step = _step(tmp_path, "a", passes=False)
    execute(step)
    step.passes = True
    assert execute(step).receipt.passed
    assert step.made == 2
    execute(step)
    assert step.made == 2


def test_an_input_that_failed_its_checks_stops_the_next_step(tmp_path: Path) -> None:
    execute(_step(tmp_path, "a", passes=False))
    with pytest.raises(CheckFailed, match="holds"):
        execute(_step(tmp_path, "b", inputs=("a",)))


def test_an_input_that_was_never_checked_stops_the_next_step(tmp_path: Path) -> None:
    _step(tmp_path, "a").run(silent)
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
    assert receipt.cpu_seconds is not None and 0 <= receipt.cpu_seconds <= receipt.seconds + 1
    assert receipt.children_cpu_seconds is not None and receipt.children_cpu_seconds >= 0


def test_a_receipt_of_a_version_that_measured_no_cpu_is_still_read(tmp_path: Path) -> None:
    artifact = execute(_step(tmp_path, "a")).artifact
    (file,) = (tmp_path / "receipts").rglob("*.json")
    raw = json.loads(file.read_bytes())
    del raw["cpu_seconds"], raw["children_cpu_seconds"]
    file.write_text(json.dumps(raw))
    receipt = read_receipt(artifact)
    assert receipt is not None and receipt.cpu_seconds is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"checks": 3}', b"\xff"])
def test_a_receipt_that_cannot_be_read_is_none_and_the_step_is_checked_again(tmp_path: Path, data: bytes) -> None:
    step = _step(tmp_path, "a")
    artifact = execute(step).artifact
    (file,) = (tmp_path / "receipts").rglob("*.json")
    file.write_bytes(data)
    assert read_receipt(artifact) is None and finished(step) is None
    assert execute(step).artifact == artifact
    assert finished(step) is not None
