"""Workers compose lots at the same time; how many there are, and whether one ends, changes no document."""

from __future__ import annotations

import os
import signal
from collections import Counter
from multiprocessing import parent_process
from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import HoldoutRecipe, SemanticRecipe, TokenizerRecipe
from megacpp_assets.semantic.documents import lots
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.judge import Judge
from megacpp_assets.semantic.documents.lots import (
    Composed,
    ComposerPool,
    DocumentLot,
    LocalComposers,
    Materials,
    compose,
    open_composers,
    search,
)
from megacpp_assets.semantic.documents.roots.held_out import hold_out
from megacpp_assets.semantic.documents.roots.lengths import Lengths
from tests.semantic.sources import index

BUDGET = 512
RECIPE = SemanticRecipe(strategy="per_chunk", parsed_documents=0)
MANY = {
    f"part{n}.cc": f"struct Part{n} {{ int left; int right; }};\n"
    + (f"int use{n - 1}(int);\n" if n else "")
    + f"int use{n}(int v) {{ Part{n} part{{v, {n}}}; return part.left + "
    + (f"use{n - 1}(v);" if n else "v;")
    + " }\n"
    for n in range(140)
}


@pytest.fixture(scope="module")
def materials(tmp_path_factory: pytest.TempPathFactory) -> Materials:
    repository, store = index(tmp_path_factory.mktemp("lots"), MANY)
    texts = [facts.source.blob for facts in repository.files]
    held = hold_out(repository, "lots", HoldoutRecipe())
    assert held.files
    return Materials(repository, store, RECIPE, Lengths(lambda: texts, TokenizerRecipe()), held)


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGACPP_WORKERS", "2")


@pytest.fixture
def alone(materials: Materials, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that one process makes, as if there were many characters."""
    monkeypatch.setattr(lots, "FEWEST_CHARS", 0)
    return _documents(ComposerPool(LocalComposers(materials)))


@pytest.fixture
def mortal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some workers kill themselves, and then this file exists."""
    monkeypatch.setattr("megacpp_assets.semantic.documents.documents.compose", _compose_or_die)
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    return tmp_path / "died"


def _documents(composers: ComposerPool) -> list[str]:
    of = composers.local.materials
    judge = Judge(of.repository, of.held)
    made = documents(of.repository, of.chars, of.recipe, BUDGET, judge, lengths=of.lengths, composers=composers)
    return list(map(repr, made))


def test_two_workers_make_the_documents_that_one_process_makes(
    materials: Materials, alone: list[str], two_workers: None, tmp_path: Path
) -> None:
    with open_composers(tmp_path, LocalComposers(materials)) as composers:
        assert _documents(composers) == alone
    assert len(alone) > 2 * len(MANY) - 3


def test_a_lot_whose_worker_ends_is_composed_by_this_process(
    materials: Materials, alone: list[str], two_workers: None, mortal: Path, tmp_path: Path
) -> None:
    with open_composers(tmp_path, LocalComposers(materials)) as composers:
        assert _documents(composers) == alone
    assert mortal.exists()


def test_roots_of_few_characters_are_composed_by_this_process(
    materials: Materials, two_workers: None, mortal: Path, tmp_path: Path
) -> None:
    with open_composers(tmp_path, LocalComposers(materials)) as composers:
        assert len(_documents(composers)) > 2 * len(MANY) - 3
    assert not mortal.exists()


def test_at_most_128_groups_of_a_side_are_searched_for_the_price(
    materials: Materials, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: Counter[bool] = Counter()

    def counted(local: LocalComposers, tokens: int, lot: DocumentLot) -> list[Counter[float]]:
        searched[lot.form.validates] += len(lot.groups)
        return search(local, tokens, lot)

    monkeypatch.setattr("megacpp_assets.semantic.documents.documents.search", counted)
    assert len(_documents(ComposerPool(LocalComposers(materials)))) > 2 * len(MANY) - 3
    assert 64 < searched[False] <= 128 and 0 < searched[True] <= 128


def _compose_or_die(local: LocalComposers, tokens: int, lot: DocumentLot) -> Composed:
    """Compose a lot, unless this is a worker and its first document is one of every seventh."""
    if parent_process() is not None and lot.groups[0].roots[0] % 7 == 0:
        Path(os.environ["DIED"]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return compose(local, tokens, lot)
