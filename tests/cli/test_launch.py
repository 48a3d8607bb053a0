"""`megacpp launch`: what a launch would ask for and take, what is on record, and giving it up."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
import tomlkit

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import TrainingFailed
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.drive import drive
from megacpp_assets.launch.client.progress import StepRate
from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Report
from megacpp_assets.trained.stage import spec
from megacpp_assets.training.job import TrainingJob
from megacpp_assets.training.spec import TrainedCheckpointSpec
from tests.cli.commands import exit_code
from tests.loader.rows_artifact import DATASET
from tests.training.waiting import wait_for
from tests.training.world import tiny_recipe, tiny_root


def write_recipe(folder: Path, **training: object) -> Path:
    """A recipe over the tiny dataset."""
    recipe = {
        "dataset": DATASET,
        "catalogue": "sample",
        "repos": ["sample-format"],
        "curriculum": ["4k"],
        "tokenizer": {"vocabulary_size": 8192},
        "training": asdict(tiny_recipe(**training)),
    }
    file = folder / "tiny.toml"
    file.write_text(tomlkit.dumps(recipe))
    return file


def asked_spec(root: Path, recipe: Path, *settings: str) -> TrainedCheckpointSpec:
    """What `megacpp launch` would train."""
    followed = load_recipe(str(recipe), settings)
    return spec(Corpus(root, CorpusLock(followed.dataset, ""), followed), "base/4k")


def said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path, *words: str
) -> tuple[str, str]:
    """Both outputs of `megacpp launch WORDS`."""
    exit_code(monkeypatch, "launch", *words, "--data-root", str(root))
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_dry_run_prints_what_the_launcher_would_be_handed_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, recipe = tiny_root(tmp_path / "root"), write_recipe(tmp_path)
    before = sorted(root.rglob("*"))
    slurm = ("launch.launcher=slurm", "launch.exchange=gs://bucket/place")
    words = ["--recipe", str(recipe), *(word for setting in slurm for word in ("--set", setting)), "--dry-run"]
    out, err = said(monkeypatch, capsys, root, *words)
    name = TrainingJob.of(asked_spec(root, recipe, *slurm)).name
    assert f"#SBATCH --job-name={name}-1\n" in out and f"gs://bucket/place/jobs/{name} --attempt 1" in out
    assert not err and sorted(root.rglob("*")) == before


def test_a_dry_run_over_nothing_names_what_is_not_made_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said(monkeypatch, capsys, tmp_path / "none", "--recipe", "upstream", "--dry-run")
    assert "megacpp_assets.training.trainer --job" in out
    assert err.count("not made yet: ") == 2 and "megatron/clang_semantic_4k_v10/base/4k" in err
    assert not (tmp_path / "none").exists()


def test_specialists_are_listed_as_for_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--recipe", "upstream", "--dry-run", "--specialists", "base, small_cpp,")
    out, _ = said(monkeypatch, capsys, tmp_path / "none", *words)
    assert [line for line in out.splitlines() if line.startswith("# ")] == ["# base/4k", "# small_cpp/4k"]


def test_an_estimate_is_made_of_the_rate_that_a_training_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, recipe = tiny_root(tmp_path / "root"), write_recipe(tmp_path, steps=2000)
    words = ("--recipe", str(recipe), "--estimate", "--hourly", "36")
    _, err = said(monkeypatch, capsys, root, *words)
    assert "expected a rate measured by launcher local on cpu with training.processes = 1\n  found none" in err
    order = AttemptOrder(TrainingJob.of(asked_spec(root, recipe)), 1, root.as_uri())
    records.begin(root, order, LaunchRecipe())
    records.end(
        root, order.name, "succeeded", StepRate(steps=10, seconds_per_step=0.5, tokens=100.0, start_seconds=8.0)
    )
    out, _ = said(monkeypatch, capsys, root, *words)
    assert "rate       0.5 s a step, 200 tokens/s" in out and f"{order.name} of base/4k, as it trained" in out
    assert "duration   0:16:48 (h:mm:ss), 8.0 s of it" in out and "cost       10.08 at 36 an hour" in out
    out, _ = said(monkeypatch, capsys, root, *words, "--set", "training.layers=8")
    assert "scaled by parameters x tokens of a step" in out
    # 4,096 tokens a row and 2 rows for the 100 that were measured, and a model that is larger.
    assert float(out.split("rate ")[1].split()[0]) > 0.5 * 2 * 4096 / 100
    out, _ = said(monkeypatch, capsys, root, "status")
    assert out == f"{order.name}  base/4k          local      succeeded  200 tokens/s\n"


@dataclass
class Waiting:
    """Runs until it is released."""

    running: set[str] = field(default_factory=set)

    def plan(self, order: AttemptOrder) -> str:
        return order.name

    def submit(self, order: AttemptOrder) -> None:
        self.running.add(order.name)

    def look(self, name: str) -> Report:
        return Report(AttemptState.RUNNING)

    def release(self, name: str) -> None:
        self.running.remove(name)


def test_a_run_is_shown_while_it_runs_and_cancelled_by_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, recipe = tiny_root(tmp_path / "root"), write_recipe(tmp_path)
    job, launcher, messages = TrainingJob.of(asked_spec(root, recipe)), Waiting(), list[str]()

    def launch() -> None:
        try:
            drive(launcher, LaunchRecipe(look_seconds=0.05), job, tmp_path)
        except TrainingFailed as error:
            messages.append(str(error))

    driving = threading.Thread(target=launch)
    driving.start()
    wait_for(lambda: launcher.running)
    (tmp_path / "metrics.jsonl").write_text("one\ntwo\n")
    name = f"{job.name}-1"
    assert (
        f"{name}  base/4k          local      running: step 2 of 12\n" in said(monkeypatch, capsys, root, "status")[0]
    )
    out, err = said(monkeypatch, capsys, root, "cancel", name)
    driving.join()
    assert (out, err) == (f"{name}  failed: a request to cancel it\n", "") and not launcher.running
    assert "found a request to cancel it" in messages[0]
    assert said(monkeypatch, capsys, root, "cancel", name)[0] == out, "the second command prints the same"


def test_a_run_whose_launcher_was_killed_is_named_and_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, recipe = tiny_root(tmp_path / "root"), write_recipe(tmp_path)
    order = AttemptOrder(TrainingJob.of(asked_spec(root, recipe)), 1, root.as_uri())
    records.begin(root, order, LaunchRecipe())
    out, _ = said(monkeypatch, capsys, root, "status")
    assert "its launching process has ended (step 0 of 12)" in out
    out, _ = said(monkeypatch, capsys, root, "cancel", order.name)
    assert out == f"{order.name}  released after its launching process had ended\n"
    assert records.records(root)[0].ended


def test_a_run_that_is_not_on_record_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = said(monkeypatch, capsys, tmp_path, "cancel", f"megacpp-{'0' * 22}-1")
    assert "expected a name that exists\n  found none at all\n  what to do: megacpp launch status lists the runs" in err
