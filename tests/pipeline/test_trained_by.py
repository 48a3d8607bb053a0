"""A mixture means the last checkpoint that the present recipe trained: all that the recipe decides is compared."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.cli.audit import find_checkpoint
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.removal import Removal
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.lineage.history import read_history
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.trained_by import TrainedBy
from tests.pipeline.roots import megacpp_here, succeed

CHECKPOINT = "checkpoints/mine/base/8k/step_00000004"
DENIED = 'history.denied_symbols=["drivers:src/driver.c:probe"]'


def _trained(corpus: Corpus) -> bool:
    return TrainedBy(corpus, read_history(corpus.root)).trained(CHECKPOINT)


def _with(root: Path, *settings: str) -> Corpus:
    """The corpus of the own line with other settings of its recipe."""
    return replace(open_corpus(root), recipe=load_recipe(str(root.parent / "mine.toml"), settings))


@pytest.mark.parametrize(
    "setting",
    [
        'curation.secrets="replace"',
        'curation.licenses_denied=["GPL-*"]',
        'holdout.repositories=["text"]',
        'holdout.salt="other"',
        DENIED,
        "semantic.dependency_depth=2",
        "mixture.seed=7",
        "packing.fim_rate=0.5",
        "phases.8k.row_tokens=16384",
        "training.seed=7",
    ],
)
def test_a_changed_key_that_decides_a_byte_makes_another_recipe(own_line: Path, setting: str) -> None:
    assert not _trained(_with(own_line, setting))


@pytest.mark.parametrize("settings", [(), ("concurrency.parsing=2",), ("sources.wall_seconds=9000",)])
def test_a_key_that_decides_no_byte_makes_no_other_recipe(own_line: Path, settings: Sequence[str]) -> None:
    assert _trained(_with(own_line, *settings))


def test_a_promoted_reference_makes_no_other_recipe(reported_line: Path) -> None:
    corpus = open_corpus(reported_line, "mine")
    drivers, later = corpus.lock.pin("drivers"), next(pin for pin in corpus.lock.beside if pin.name == "text")
    assert _trained(replace(corpus, lock=corpus.lock.reading([drivers, later])))


@pytest.mark.parametrize("removal", [Removal("drivers", "", "asked"), Removal("text", "src/float.cpp", "asked")])
@pytest.mark.parametrize("mixture", ["base", "low_level"])
def test_a_removal_makes_no_other_recipe(own_line: Path, removal: Removal, mixture: str) -> None:
    corpus = open_corpus(own_line)
    removed = replace(corpus, lock=corpus.lock.removing(removal))
    history = read_history(corpus.root)
    assert TrainedBy(removed, history).trained(CHECKPOINT.replace("base", mixture))
    assert not TrainedBy(replace(removed, recipe=_with(own_line, "mixture.seed=7").recipe), history).trained(CHECKPOINT)


def test_after_a_removal_a_recipe_without_the_phase_is_another_one(own_line: Path) -> None:
    corpus = _with(own_line, "mixture.seed=7")
    phases = {"9k": corpus.recipe.phases["8k"]}
    recipe = replace(corpus.recipe, phases=phases, curriculum=("9k",))
    removed = replace(corpus, recipe=recipe, lock=corpus.lock.removing(Removal("drivers", "", "asked")))
    assert not _trained(removed)


def test_after_a_run_of_another_recipe_no_model_of_the_earlier_one_is_taken(own_line: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(own_line, tmp_path / "data", symlinks=True))
    for name in ("own.toml", "mine.toml"):
        shutil.copy(own_line.parent / name, tmp_path)
    before = open_corpus(root).lock.recipe
    assert find_checkpoint("base/8k", str(root)) == (root, CHECKPOINT)
    run = ("run", "--recipe", str(tmp_path / "mine.toml"), "--set", 'holdout.salt="other"')
    succeed(root, *run, "--until", "semantic_jsonl")
    with pytest.raises(SpecError, match=rf"only steps of other recipes: step_00000004; .* or name {CHECKPOINT}"):
        find_checkpoint("base/8k", str(root))
    audit = megacpp_here(root, "audit", str(root / CHECKPOINT), "--quick")
    assert audit.returncode == 1
    assert f"megacpp run --recipe {root}/recipes/{before}.toml, the recipe that trained it" in audit.stdout
    assert "promote" not in audit.stdout
