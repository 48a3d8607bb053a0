"""`megacpp estimate` says what a catalogue would take, from what this data root took."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from megacpp_assets.estimate.rates import RATES_FILE
from tests.pipeline.roots import megacpp_here, succeed


@pytest.fixture(scope="module")
def root(small_line: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small line: the command keeps its rates in the data root."""
    return Path(shutil.copytree(small_line, tmp_path_factory.mktemp("estimate") / "data", symlinks=True))


def test_repositories_that_are_finished_are_estimated_at_what_they_took(root: Path) -> None:
    said = json.loads(
        succeed(root, "estimate", "--catalogue", "sample", "--repos", "sample-format,sample-kernel", "--json")
    )
    took = _took(root, "jsonl")
    assert said["stages"]["semantic_jsonl"]["cpu_seconds"] == pytest.approx(sum(took), rel=0.5)
    assert {found["known_by"] for found in said["repositories"].values()} == {"pinned"}
    stored = sum(file.stat().st_size for file in (root / "jsonl").rglob("*") if file.is_file())
    assert said["stages"]["semantic_jsonl"]["stored_bytes"] == pytest.approx(stored, rel=0.5)
    assert said["not_measured"] == []
    hours = said["hours_by_cores"]
    assert hours["2"] >= hours["16"] >= hours["64"] > 0


def test_the_table_names_error_cost_and_machine(root: Path) -> None:
    said = succeed(root, "estimate", "--repos", "fmt", "--core-hour", "36", "--gigabyte-month", "0.02", "--cores", "4")
    assert "hours on 4 cores" in said and "semantic_jsonl" in said
    assert "1 repository (1 by the catalogue)" in said
    assert "cost of all stages" in said and "rates of" in said
    assert "error of the rate" in said and "measured on" in said and "1 step " in said


def test_repositories_far_larger_than_what_was_measured_are_named(root: Path) -> None:
    said = megacpp_here(root, "estimate", "--repos", "fmt,linux").stderr
    assert "warning: more than 10 times the largest pinned repository" in said and "linux@v6.10" in said
    assert "warning" not in megacpp_here(root, "estimate", "--catalogue", "sample", "--repos", "sample-kernel").stderr


def test_rates_are_kept_and_serve_another_data_root(root: Path, tmp_path: Path) -> None:
    before = json.loads(succeed(root, "estimate", "--repos", "fmt,linux", "--json"))
    other = tmp_path / "other"
    succeed(other, "run", "--repos", "sample-kernel", "--until", "pinned_repos")
    after = json.loads(succeed(other, "estimate", "--repos", "fmt,linux", "--json", "--rates", str(root / RATES_FILE)))
    assert after["machine"] == before["machine"]
    assert after["stages"]["curated_files"]["measured_steps"] == 2


def test_a_data_root_without_finished_steps_says_what_to_run(tmp_path: Path) -> None:
    done = megacpp_here(tmp_path, "estimate")
    assert done.returncode == 1 and "rates of this machine" in done.stderr
    assert "finished steps with CPU seconds" in done.stderr and "make run" in done.stderr


def test_unknown_repositories_and_broken_rates_are_rejected_by_name(root: Path, tmp_path: Path) -> None:
    assert "'fmtt'" in megacpp_here(root, "estimate", "--repos", "fmtt").stderr
    broken = tmp_path / "rates.json"
    for text in ("", "[]", '{"machine": "x"}', '{"machine": "x", "stages": {"semantic_jsonl": {"steps": 1}}}'):
        broken.write_text(text)
        done = megacpp_here(root, "estimate", "--rates", str(broken))
        assert done.returncode == 1 and f"rates {broken}" in done.stderr


def _took(root: Path, folder: str) -> list[float]:
    receipts = [
        json.loads(file.read_bytes())
        for file in (root / "receipts" / folder).rglob("*.json")
        if not file.name.endswith(".work.json")
    ]
    return [receipt["cpu_seconds"] + receipt["children_cpu_seconds"] for receipt in receipts]
