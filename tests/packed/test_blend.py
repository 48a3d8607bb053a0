"""Documents of other budgets in a mixture: so often as the phase says, and none that its own budget has too."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus as RecipesCorpus
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, RepoPin
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.recipe.documents import MixtureRecipe
from megacpp_assets.contract.recipe.rows import PhaseRecipe, standard_phases
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.packed.mixture import entries
from megacpp_assets.packed.stage import PackedRowsSpec, run
from megacpp_assets.packed.stage import spec as spec_of
from megacpp_assets.quality.packed import check
from megacpp_assets.storage.artifact import Artifact
from tests.packed.enriched_documents import ABSEIL, DATASET, FMT, Corpus, documents, publish_enriched

_COUNTS = {FMT: (9, 30), ABSEIL: (4, 14)}
"""Documents of the own budget, and of the other one, in which one stands that the own has too."""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> PackedRowsSpec:
    """A mixture in rows of 16,384 tokens of two repositories with documents of two budgets."""
    root = tmp_path_factory.mktemp("blend")
    for seed, (repo, (own, other)) in enumerate(_COUNTS.items()):
        long = documents(repo, own, seed=100 + seed, longest=9000)
        short = documents(repo, other - 1, seed=200 + seed)
        valid = documents(repo, 2, seed=300 + seed)
        publish_enriched(root, repo, [long], valid, 16_384, {4096: [*short, long[0]]})
    made = Corpus(root, {FMT: [], ABSEIL: []}, {}).spec()
    return replace(made, row_tokens=16_384, document_tokens=16_384)


def _taken(artifact: Artifact, split: str) -> Counter[str]:
    files = (file for file in artifact.files(".parquet") if file.name.startswith(f"{split}_"))
    lists = (row for file in files for row in pq.read_table(file, columns=[c.SOURCE_DOC_IDS])[0].to_pylist())
    return Counter(doc_id for row in lists for doc_id in row)


def _sum(taken: Counter[str], beginning: str) -> int:
    return sum(times for doc_id, times in taken.items() if doc_id.startswith(beginning))


def _failing(artifact: Artifact) -> list[Any]:
    return [result for result in check(artifact) if not result.passed]


WEIGHT = st.floats(0.5, 2)
_CATEGORIES = {FMT: "cpp_libraries", ABSEIL: "databases"}


def _recipe(own: dict[str, float], categories: dict[str, float], other: float, seed: int) -> Recipe:
    return Recipe(
        DATASET,
        "sample",
        (FMT.name, ABSEIL.name),
        ("4k", "16k"),
        phases={**standard_phases(), "16k": PhaseRecipe(16_384, 16_384, blend={"4k": other})},
        specialists={"numerics": own},
        mixture=MixtureRecipe(seed=seed, categories=categories),
    )


@given(own=WEIGHT, categories=st.tuples(WEIGHT, WEIGHT), other=st.floats(0.05, 3), seed=st.integers(0, 5))
@settings(max_examples=8, deadline=None)
def test_each_repository_and_budget_is_taken_exactly_as_often_as_the_recipe_says(
    spec: PackedRowsSpec, own: float, categories: tuple[float, float], other: float, seed: int
) -> None:
    of_category = dict(zip(_CATEGORIES.values(), categories, strict=True))
    recipe = _recipe({FMT.name: own}, of_category, other, seed)
    pins = (RepoPin(*repo.key.split("@"), "", "", "", "", "", category=name) for repo, name in _CATEGORIES.items())
    made = run(spec_of(RecipesCorpus(spec.root, CorpusLock(DATASET, "", tuple(pins)), recipe), "numerics/16k"))
    taken = _taken(made, TRAIN_SPLIT)
    for number, (repo, (long, short)) in enumerate(_COUNTS.items()):
        weight = (own if repo == FMT else 1.0) * of_category[_CATEGORIES[repo]]
        assert _sum(taken, f"{repo.name}-10{number}-") == entries(long, weight)
        assert _sum(taken, f"{repo.name}-20{number}-") == entries(short - 1, weight * other)
    assert made.manifest.stats["documents_per_budget"] == {
        "16384": sum(_sum(taken, f"{repo.name}-10") for repo in _COUNTS),
        "4096": sum(_sum(taken, f"{repo.name}-20") for repo in _COUNTS),
    }
    assert _failing(made) == []


def test_validation_documents_are_of_the_phases_own_budget(spec: PackedRowsSpec) -> None:
    made = run(replace(spec, blend={4096: 2.0}))
    assert _taken(made, VALID_SPLIT) == _taken(run(spec), VALID_SPLIT)


def test_a_mixture_that_forgot_to_blend_is_caught_by_what_it_should_have_taken(spec: PackedRowsSpec) -> None:
    made = run(spec)
    config = {**made.manifest.config, "blend": {"4096": 0.5}}
    other = replace(made, manifest=replace(made.manifest, config=config))
    assert "documents_are_taken_as_the_mixture_says" in {result.name for result in _failing(other)}


def test_a_budget_that_nobody_made_is_named(spec: PackedRowsSpec) -> None:
    with pytest.raises(LineageGap, match="expected documents of the set 8192; found 4096, 16384"):
        run(replace(spec, blend=MappingProxyType({8192: 1.0})))
