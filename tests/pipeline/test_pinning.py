"""`corpus.lock`: wanted references become pins that stay where they are."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.corpus_lock import TokenizerPin
from megacpp_assets.contract.errors import SpecError, TokenizerDrift
from megacpp_assets.contract.recipe_text import load_recipe
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pinning import pin_corpus, pin_tokenizer
from megacpp_assets.pipeline.steps import step_of
from megacpp_assets.pipeline.tokenizers import registered_pin
from megacpp_assets.repos.sample import make_sample_repositories
from megacpp_assets.tokenizer.registry import commit_tokenizer

SAMPLE = load_recipe("sample")


def test_pinning_twice_leaves_the_lock_untouched(tmp_path: Path) -> None:
    pin_corpus(tmp_path, SAMPLE, ["sample-expr"])
    before = (tmp_path / "corpus.lock").stat().st_mtime_ns
    pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0"])
    assert (tmp_path / "corpus.lock").stat().st_mtime_ns == before


def test_a_new_tag_replaces_the_pin_and_keeps_the_tokenizer(tmp_path: Path) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0"])
    pin = TokenizerPin("c" * 40, "5" * 64, ("sample-expr@v1.0.0",))
    pin_tokenizer(corpus, pin)
    moved = pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.1.0"])
    assert moved.lock.pin("sample-expr").ref == "v1.1.0"
    assert moved.lock.tokenizer == pin
    assert step_of(moved, "tokenizer", moved.dataset).target().inputs == ("cpp_raw/sample-expr@v1.0.0",)


def test_another_tokenizer_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr"])
    pinned = pin_tokenizer(corpus, TokenizerPin("c" * 40, "5" * 64))
    with pytest.raises(TokenizerDrift, match="megacpp tokenizer pin"):
        pin_tokenizer(pinned, TokenizerPin("d" * 40, "6" * 64))


def _commit(root: Path, dataset: str, vocabulary_size: int) -> str:
    recipe = replace(SAMPLE.tokenizer, vocabulary_size=vocabulary_size)
    files = {
        "tokenizer.json": b"{}",
        "recipe.json": canonical_json({"dataset": dataset, "recipe": asdict(recipe), "version": "3"}),
        "corpus.json": canonical_json({"inputs": [{"path": "cpp_raw/sample-expr@v1.0.0"}]}),
    }
    return commit_tokenizer(root, dataset, files)


def test_a_registered_tokenizer_of_the_same_dataset_and_recipe_can_be_pinned(tmp_path: Path) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr"])
    commit = _commit(tmp_path, SAMPLE.dataset, SAMPLE.tokenizer.vocabulary_size)
    expected = TokenizerPin(commit, sha256_bytes(b"{}"), ("sample-expr@v1.0.0",))
    assert registered_pin(corpus, commit[:12]) == expected


@pytest.mark.parametrize(
    ("dataset", "size", "said"),
    [
        ("other", SAMPLE.tokenizer.vocabulary_size, f"expected one of dataset {SAMPLE.dataset}.*found dataset other"),
        (SAMPLE.dataset, 9000, f"vocabulary_size={SAMPLE.tokenizer.vocabulary_size}.*found.*vocabulary_size=9000"),
    ],
)
def test_a_tokenizer_of_another_dataset_or_recipe_cannot_be_pinned(
    tmp_path: Path, dataset: str, size: int, said: str
) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr"])
    with pytest.raises(SpecError, match=said):
        registered_pin(corpus, _commit(tmp_path, dataset, size))


def test_two_datasets_share_a_root_without_touching_each_other(tmp_path: Path) -> None:
    pin_corpus(tmp_path, SAMPLE, ["sample-expr"])
    pin_corpus(tmp_path, replace(SAMPLE, dataset="other"), ["sample-format"])
    assert [pin.name for pin in open_corpus(tmp_path, SAMPLE.dataset).lock.repos] == ["sample-expr"]
    assert open_corpus(tmp_path).dataset == "other"


def test_an_unknown_repository_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="sample-expr"):
        pin_corpus(tmp_path, SAMPLE, ["nonsense@v1"])


def test_a_repository_asked_for_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="each repository once"):
        pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0", "sample-expr@v1.1.0"])


def test_a_specialist_without_a_repository_is_refused(tmp_path: Path) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr"])
    with pytest.raises(SpecError, match="templates"):
        corpus.mixtures(["small_cpp"], ["4k"])


def test_a_persons_own_recipe_and_catalogue_are_followed(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        '[repo.mine]\nurl = "sample://sample-expr"\nref = "v1.0.0"\nlicense = "MIT"\nspecialist = "small_cpp"\n'
    )
    (tmp_path / "mine.toml").write_text(
        'dataset = "mine"\ncatalogue = "own.toml"\nrepos = ["mine"]\nphases = ["16k"]\n[training]\nsteps = 9\n'
    )
    recipe = load_recipe(str(tmp_path / "mine.toml"))
    make_sample_repositories(tmp_path / "data")
    pin_corpus(tmp_path / "data", recipe, recipe.repos)
    corpus = open_corpus(tmp_path / "data")
    assert (corpus.dataset, corpus.recipe.training.steps, corpus.recipe.phases) == ("mine", 9, ("16k",))
    assert [(pin.name, pin.ref) for pin in corpus.lock.repos] == [("mine", "v1.0.0")]
