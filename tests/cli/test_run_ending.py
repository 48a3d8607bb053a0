"""What `megacpp run` says at its end: what was made now and what was there, and commands that fit."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.cli.screen.bars import Bars, wide_console
from megacpp_assets.cli.screen.running import _next_commands
from megacpp_assets.cli.screen.table import stage_table, units_reached, warnings_of
from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, RepoPin
from megacpp_assets.contract.manifest import FileEntry, Manifest
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.defs.home.instance import HOME_VARIABLE
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.receipts import Receipt
from megacpp_assets.pipeline.stages import STAGES
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE
from megacpp_assets.storage.work import write_work
from tests.cli.commands import exit_code


def _corpus(root: Path, *names: str) -> Corpus:
    pins = tuple(RepoPin(name, "v1", "refs/tags/v1", "0" * 40, "sample://x", "MIT", "") for name in names)
    recipe = load_recipe("sample")
    return Corpus(root, CorpusLock("d", "0" * 64, pins), recipe)


def _finished(corpus: Corpus, partition: str, seconds: float, size: int) -> tuple[Step, Done]:
    stage = "semantic_jsonl"
    manifest = Manifest(stage, partition, "", {}, (), (FileEntry("data", size, ""),), {"documents": 10})
    artifact = Artifact(corpus.root, f"jsonl/d/{partition}", manifest)
    return Step(corpus, STAGES[stage], partition), Done(artifact, Receipt("", seconds, int(seconds * 1e6), ()))


def _row(*made: str) -> list[str]:
    corpus = _corpus(Path("/data"), "a", "b")
    steps = [_finished(corpus, "a@v1", 2.0, 4_000_000), _finished(corpus, "b@v1", 50.0, 1_000_000)]
    table = stage_table(steps, made)
    assert table.row_count == 1
    return [str(next(iter(column.cells))) for column in table.columns]


def test_the_closing_table_counts_what_is_new_and_times_nothing_else() -> None:
    assert _row("semantic_jsonl a@v1") == ["semantic_jsonl", "2", "1", "20", "", "5,000,000", "2.0", "2.0", "2 MB"]


def test_a_stage_that_an_earlier_run_made_has_no_time() -> None:
    assert _row() == ["semantic_jsonl", "2", "0", "20", "", "5,000,000", "", "", ""]


def test_the_closing_table_counts_the_documents_and_tokens_of_both_splits() -> None:
    corpus, stats = _corpus(Path("/data"), "a"), {"documents": 16, "tokens": 14_000, "valid_documents": 22}
    step, done = _finished(corpus, "a@v1", 2.0, 4)
    counted = replace(done.artifact.manifest, stats={**stats, "valid_tokens": 28_000})
    table = stage_table([(step, replace(done, artifact=replace(done.artifact, manifest=counted)))], [])
    assert [str(next(iter(column.cells))) for column in table.columns[3:5]] == ["38", "42,000"]


def test_a_line_of_a_step_that_ended_says_what_its_number_counts(capsys: pytest.CaptureFixture[str]) -> None:
    step, done = _finished(_corpus(Path("/data"), "a"), "a@v1", 2.0, 4)
    with Bars({step.stage.name: 1}, wide_console()) as bars:
        bars.step_ended(step, done)
    assert "a@v1                             2.0 s  10 documents\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ({"units_parsed": 59, "units_reused": 0}, []),
        ({"units_parsed": 3, "units_reused": 1}, ["a@v1: 3 of 4 units parsed because of a change (75.0 %), 1 reused"]),
        (
            {"units_parsed": 59, "units_reused": 0, "changed_header": "include/base.h", "changed_header_units": 58},
            [
                "a@v1: 59 of 59 units parsed because of a change (100.0 %), 0 reused; "
                "58 include include/base.h, which changed"
            ],
        ),
    ],
)
def test_a_release_says_how_far_its_change_reaches_and_by_which_header(
    work: dict[str, int | str], said: list[str], tmp_path: Path
) -> None:
    finished = _finished(_corpus(tmp_path, "a"), "a@v1", 2.0, 4)
    write_work(finished[1].artifact, work)
    finished[1].artifact.directory.mkdir(parents=True)
    assert not list(units_reached([finished], ["semantic_jsonl a@v1"])), "no other reference was indexed before"
    before = tmp_path / "jsonl/d/a@v0"
    before.mkdir()
    (before / COMPLETE_FILE).touch()
    assert list(units_reached([finished], ["semantic_jsonl a@v1"])) == said
    assert not list(units_reached([finished], []))


def test_a_warning_names_its_check_and_says_what_to_do(tmp_path: Path) -> None:
    step, done = _finished(_corpus(tmp_path, "a"), "a@v1", 2.0, 4)
    checks = (
        CheckResult("documents_compile", False, "most", "few", blocking=False),
        CheckResult("other", True, "", ""),
    )
    (line,) = warnings_of([(step, replace(done, receipt=replace(done.receipt, checks=checks)))])
    assert line.startswith(
        "warning: semantic_jsonl a@v1: check documents_compile: expected most; found few; what to do:"
    )


@pytest.mark.parametrize(("repository", "proposed"), [("sample-a", True), ("fmt", False)])
def test_other_repositories_are_proposed_to_users_of_the_embedded_ones(
    repository: str, proposed: bool, tmp_path: Path
) -> None:
    commands = _next_commands(_corpus(tmp_path, "sample-b", repository), "checkpoints/x", "")
    assert commands[0] == f"megacpp audit {tmp_path}/checkpoints/x --json" and commands[1] == "megacpp ui"
    assert any("fmt@" in command for command in commands) is proposed


@pytest.mark.parametrize("is_default", [False, True])
def test_commands_name_a_data_root_that_they_would_not_find(
    is_default: bool,
    own_line: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(own_line.parent, tmp_path / "an other", symlinks=True)
    root, elsewhere = folder / "data", tmp_path / "elsewhere"
    monkeypatch.setenv(DATA_ROOT_VARIABLE, str(root if is_default else elsewhere))
    monkeypatch.setenv(HOME_VARIABLE, "")  # the run sets it; afterwards it is as it was
    shutil.rmtree(root / "checkpoints/mine/base")
    words = ("run", "--recipe", str(folder / "mine.toml"), "--data-root", str(root))
    assert not exit_code(monkeypatch, *words)
    audit, *others = capsys.readouterr().out.partition("Try next:")[2].split("megacpp ")[1:]
    assert f"'{root}/checkpoints/mine/" in audit and others
    assert all((f"--data-root '{root}'" in command) is not is_default for command in others)
