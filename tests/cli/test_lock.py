"""`megacpp lock` and `megacpp run --repos`: a pin moves only when asked to, and a run moves no pin of another."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.pipeline.corpus import open_corpus
from tests.cli.commands import exit_code

WHOLE, PART = "sample_semantic_4k_v1", "sample_semantic_4k_v1__sample_kernel"


def _megacpp(monkeypatch: pytest.MonkeyPatch, root: Path, *words: str) -> None:
    assert not exit_code(monkeypatch, *words, "--data-root", str(root))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root whose sample is pinned."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as monkeypatch:
        _megacpp(monkeypatch, folder, "run", "--until", "pinned_repos")
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(made, tmp_path / "data", symlinks=True)


def test_a_run_of_some_repositories_has_a_dataset_of_its_own_and_leaves_the_whole_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = open_corpus(root).lock
    _megacpp(monkeypatch, root, "run", "--repos", "sample-kernel@v1.1.0", "--until", "pinned_repos")
    assert open_corpus(root).lock == before
    assert [pin.ref for pin in open_corpus(root, PART).lock.repos] == ["v1.1.0"]


def test_a_pin_moves_by_its_own_step_and_the_next_run_keeps_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _megacpp(monkeypatch, root, "lock", "promote", "sample-kernel@v1.1.0", "--unchecked", "--why", "to see")
    assert "sample-kernel: v1.0.0 " in capsys.readouterr().out
    _megacpp(monkeypatch, root, "run", "--until", "pinned_repos")
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith("sample-kernel@v1.1.0 stays pinned, though the recipe says sample-kernel@v1.0.0: ")
    assert open_corpus(root).lock.pin("sample-kernel").ref == "v1.1.0"
    assert {path.name for path in (root / "cpp_raw").iterdir()} >= {"sample-kernel@v1.0.0", "sample-kernel@v1.1.0"}


def test_the_history_tells_each_change_and_diff_what_has_changed_since(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for ref in ("v1.1.0", "v1.0.0"):
        _megacpp(monkeypatch, root, "lock", "promote", f"sample-kernel@{ref}", "--unchecked", "--why", "to see")
    capsys.readouterr()
    _megacpp(monkeypatch, root, "lock", "history")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(line[2], line[5]) for line in lines if line[0] != "after"] == [("v1.0.0", "v1.1.0"), ("v1.1.0", "v1.0.0")]
    _megacpp(monkeypatch, root, "lock", "diff", "1")
    assert capsys.readouterr().out.startswith(f"{WHOLE}: sample-kernel@v1.1.0: none -> ")
    _megacpp(monkeypatch, root, "lock", "diff", "2")
    assert "sample-kernel: v1.1.0 " in capsys.readouterr().out


def test_a_reference_beside_the_pinned_one_is_made_shown_and_recorded_and_the_pin_moves_only_when_asked(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = open_corpus(root).lock
    _megacpp(monkeypatch, root, "run", "--refs", "sample-kernel@v1.1.0", "--until", "pinned_repos")
    after = open_corpus(root).lock
    assert (after.repos, [pin.partition.key for pin in after.beside]) == (before.repos, ["sample-kernel@v1.1.0"])
    assert (root / "cpp_raw" / "sample-kernel@v1.1.0" / "_COMPLETE").exists()
    capsys.readouterr()
    _megacpp(monkeypatch, root, "lock", "show")
    assert (
        f"sample-kernel@v1.1.0             {after.beside[0].commit[:12]} (not read by any mixture"
        in capsys.readouterr().out
    )
    _megacpp(monkeypatch, root, "lock", "promote", "sample-kernel@v1.1.0", "--unchecked", "--why", "to see")
    capsys.readouterr()
    _megacpp(monkeypatch, root, "lock", "history")
    changes = [line.split(": ")[1:] for line in capsys.readouterr().out.splitlines() if not line.startswith("after")]
    assert [change[0] for change in changes] == ["sample-kernel@v1.1.0", "sample-kernel"]


def test_dagster_shows_every_known_reference_and_a_partition_that_is_new_to_it_is_registered(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _megacpp(monkeypatch, root, "run", "--refs", "sample-kernel@v1.1.0", "--until", "pinned_repos")
    job = build_definitions(root).resolve_job_def(f"{WHOLE}__pinned_repos__curated_files__semantic_jsonl__job")
    with open_instance(root) as instance:
        partitions = f"repo_ref__{WHOLE}"
        assert "sample-kernel@v1.1.0" in instance.get_dynamic_partitions(partitions)
        instance.add_dynamic_partitions(partitions, ["sample-expr@v1.1.0"])  # as a person does in the UI
        raw = dg.AssetKey([WHOLE, "pinned_repos"])
        assert job.execute_in_process(
            instance=instance, partition_key="sample-expr@v1.1.0", asset_selection=[raw]
        ).success
    assert RepoRef("sample-expr", "v1.1.0") in open_corpus(root).known_refs
    assert open_corpus(root).lock.pin("sample-expr").ref == "v1.0.0"


@pytest.mark.parametrize(
    "words",
    [("--refs", "sample-kernel@v1.1.0", "--phases", "4k"), ("--dataset", WHOLE), ("--refs", "x@1", "--set", "a=1")],
)
def test_options_that_would_be_ignored_are_rejected(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert exit_code(monkeypatch, "run", *words, "--data-root", str(root)) == 2
    assert "does not go with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lock", "promote", "nonsense@v1"), "a pin of nonsense"),
        (("lock", "diff", "7"), "state 7 of corpus.lock\n  expected none yet"),
        (("run", "--specialists", "nonsense"), "specialist 'nonsense'"),
        (("run", "--refs", "sample-kernel@v9"), "sample-kernel@v9\n  expected a tag"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_no_file(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in root.glob("corpus.lock*")}
    assert exit_code(monkeypatch, *words, "--data-root", str(root)) == 1
    assert said in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in root.glob("corpus.lock*")} == before


def test_every_dataset_is_shown_and_the_active_one_is_marked(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _megacpp(monkeypatch, root, "run", "--repos", "sample-kernel", "--until", "pinned_repos")
    capsys.readouterr()
    _megacpp(monkeypatch, root, "lock", "show")
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if not line.startswith("    ")] == [f"* {WHOLE}", f"  {PART}"]
    assert "tokenizer                        none yet" in said
