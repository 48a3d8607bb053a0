"""`megacpp audit` finds its checkpoint from any folder, and loads what an audit needs and no more."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from megacpp_assets.cli.audit import find_checkpoint
from megacpp_assets.cli.screen.audit_report import print_report
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, LockFile
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.lineage.audit import AuditReport
from megacpp_assets.storage.publish import Target, publish
from megacpp_assets.storage.root.recipes import keep_recipe

MIXTURE = "checkpoints/corpus/base/4k"
LAST = f"{MIXTURE}/step_00000020"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root, in a folder that has the name of one of its own, with two steps of a checkpoint."""
    root = tmp_path / "checkpoints" / "data"
    for step in (10, 20):
        (root / MIXTURE / f"step_{step:08d}").mkdir(parents=True)
    _follow(root, steps=20)
    return root


def _follow(root: Path, steps: int, *settings: str) -> None:
    """Make a recipe of so many steps the one that the lock names."""
    recipe = keep_recipe(root, load_recipe("sample", [f"training.steps={steps}", *settings]))
    (root / "corpus.lock").write_bytes(LockFile("corpus", {"corpus": CorpusLock("corpus", recipe)}).to_bytes())


def _seal(root: Path, step: int, seed: int) -> None:
    """Seal the folder of `step` as a checkpoint of the sample's recipe with that seed."""
    recipe = load_recipe("sample", ["training.steps=20", f"training.seed={seed}"]).training
    path = f"{MIXTURE}/step_{step:08d}"
    publish(Target(root, path, "trained_checkpoint", "base/4k", "1", {"recipe": as_config(recipe)}, ()), lambda *_: {})


def test_a_folder_is_found_from_any_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / MIXTURE)
    assert find_checkpoint("step_00000010", None) == (root, f"{MIXTURE}/step_00000010")
    assert find_checkpoint(".", None) == (root, LAST)
    monkeypatch.chdir("/")
    assert find_checkpoint(str(root / MIXTURE), None) == (root, LAST)


@pytest.mark.parametrize("name", ["base/4k", MIXTURE, LAST, f"./{MIXTURE}/"])
def test_below_a_data_root_a_mixture_is_enough(root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir("/")
    assert find_checkpoint(name, str(root)) == (root, LAST)


@pytest.mark.parametrize(("trained", "found"), [(10, 10), (15, 10), (20, 20), (40, 20)])
def test_a_mixture_means_the_last_step_of_the_recipe_that_the_lock_names(root: Path, trained: int, found: int) -> None:
    """Later steps are those of an earlier recipe."""
    _follow(root, trained)
    for name in ("base/4k", MIXTURE, str(root / MIXTURE)):
        assert find_checkpoint(name, str(root)) == (root, f"{MIXTURE}/step_{found:08d}")
    assert find_checkpoint(LAST, str(root)) == (root, LAST)


def test_a_step_of_an_earlier_recipe_is_passed_over_even_if_it_is_later(root: Path) -> None:
    """As after a training of the new recipe that was killed at step 10."""
    for step, seed in ((10, 7), (20, 1234)):
        _seal(root, step, seed)
    _follow(root, 20, "training.seed=7")
    assert find_checkpoint("base/4k", str(root)) == (root, f"{MIXTURE}/step_00000010")
    _follow(root, 20)
    assert find_checkpoint("base/4k", str(root)) == (root, LAST)


def test_a_recipe_that_trained_no_step_is_told_so(root: Path) -> None:
    for step in (10, 20):
        _seal(root, step, seed=1234)
    _follow(root, 20, "training.seed=7")
    with pytest.raises(
        SpecError, match="only steps of other recipes: step_00000010, step_00000020; .* or name " + LAST
    ):
        find_checkpoint("base/4k", str(root))
    assert find_checkpoint(LAST, str(root)) == (root, LAST)


def test_a_phase_that_the_recipe_no_longer_has_is_told_so(root: Path) -> None:
    (root / MIXTURE).rename(root / MIXTURE.replace("4k", "8k"))
    with pytest.raises(SpecError, match=r"checkpoint base/8k of dataset corpus; .*only steps of other recipes"):
        find_checkpoint("base/8k", str(root))


def test_a_damaged_step_is_not_passed_over(root: Path) -> None:
    for step in (10, 20):
        _seal(root, step, seed=1234)
    (root / LAST / "_COMPLETE").write_text("0" * 64)
    assert find_checkpoint("base/4k", str(root)) == (root, LAST)


def test_a_recipe_that_is_missing_is_an_error_where_a_step_must_be_chosen(root: Path) -> None:
    shutil.rmtree(root / "recipes")
    with pytest.raises(LineageGap, match="recipe"):
        find_checkpoint("base/4k", str(root))
    assert find_checkpoint(LAST, str(root)) == (root, LAST)


def test_a_root_that_was_moved_is_found_where_it_is_now(root: Path, tmp_path: Path) -> None:
    moved = root.rename(tmp_path / "elsewhere")
    assert find_checkpoint(str(moved / LAST), None) == (moved, LAST)
    assert find_checkpoint("base/4k", str(moved)) == (moved, LAST)


@pytest.mark.parametrize("name", ["", "base", "base/16k", "../..", "checkpoints", "/", "step_00000020", "no\x00name"])
def test_what_is_no_checkpoint_is_said_in_one_sentence_with_those_there_are(root: Path, name: str) -> None:
    with pytest.raises(SpecError, match=r"checkpoints/DATASET.*; found .* dataset of .* has base/4k; what to do"):
        find_checkpoint(name, str(root))


def test_an_audit_loads_neither_dagster_nor_what_runs_stages() -> None:
    code = "import megacpp_assets.cli.audit, megacpp_assets.defs.home.event_log, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "megacpp_assets.lineage.audit" in loaded
    # SQLAlchemy (0.4 CPU seconds) is loaded: it reads the event log of either database.
    heavy = {"dagster", "numpy", "pyarrow", "torch", "rich", "pydantic", "tokenizers"}
    assert heavy.isdisjoint(loaded)


def test_a_repository_with_two_references_is_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    """As after a promotion: the tokenizer was trained on the earlier reference."""
    repos = [{"name": "lib", "ref": ref, "commit": ref} for ref in ("v1", "v2")]
    print_report(AuditReport(LAST, True, False, {}, {}, repos, 4, 9, 9))
    assert "  1 repository at 2 references, " in capsys.readouterr().out
