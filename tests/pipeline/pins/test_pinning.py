"""`corpus.lock`: wanted references become pins that stay where they are."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError, TokenizerDrift
from megacpp_assets.contract.lock.corpus_lock import TokenizerPin
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pins.pinning import add_references, move_pin, pin_tokenizer
from megacpp_assets.pipeline.pins.tokenizers import registered_pin
from megacpp_assets.pipeline.steps import RunPlan, planned_steps, step_of
from megacpp_assets.repos.sample import make_sample_repositories
from megacpp_assets.tokenizer.registry import commit_tokenizer
from tests.pipeline.pins.pinned import pin_corpus

SAMPLE = load_recipe("sample")


def test_pinning_twice_leaves_the_lock_untouched(tmp_path: Path) -> None:
    pin_corpus(tmp_path, SAMPLE, ["sample-expr"])
    before = (tmp_path / "corpus.lock").stat().st_mtime_ns
    pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0"])
    assert (tmp_path / "corpus.lock").stat().st_mtime_ns == before


def test_a_pin_that_moves_keeps_the_tokenizer_and_the_earlier_reference_is_still_known(tmp_path: Path) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0"])
    pin = TokenizerPin("c" * 40, "5" * 64, ("sample-expr@v1.0.0",))
    pin_tokenizer(corpus, pin)
    moved = move_pin(corpus, "sample-expr@v1.1.0")
    assert moved.lock.pin("sample-expr").ref == "v1.1.0"
    assert moved.lock.tokenizer == pin
    assert moved.lock.beside == corpus.lock.repos
    assert step_of(moved, "tokenizer", moved.dataset).target().inputs == ("cpp_raw/sample-expr@v1.0.0",)


def test_another_reference_of_a_pinned_repository_is_rejected_with_both_ways_to_get_it(tmp_path: Path) -> None:
    pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0"])
    before = (tmp_path / "corpus.lock").read_bytes()
    with pytest.raises(
        SpecError, match=r"expected the pinned sample-expr@v1.0.0.*run --refs sample-expr@v1.*lock promote "
    ):
        pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.1.0"])
    assert (tmp_path / "corpus.lock").read_bytes() == before


def test_a_repository_named_alone_stays_where_it_is_pinned(tmp_path: Path) -> None:
    move_pin(pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0"]), "sample-expr@v1.1.0")
    assert pin_corpus(tmp_path, SAMPLE, ["sample-expr"]).repo_refs == (RepoRef("sample-expr", "v1.1.0"),)


def test_a_reference_beside_the_pinned_one_has_its_commit_in_the_lock_and_no_mixture_reads_it(tmp_path: Path) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0", "sample-format"])
    known, added = add_references(corpus, ["sample-expr@v1.1.0"])
    assert added == (RepoRef("sample-expr", "v1.1.0"),) and known == open_corpus(tmp_path)
    assert known.repo_refs == corpus.repo_refs and known.known_refs == tuple(sorted((*corpus.repo_refs, *added)))
    assert known.pin("sample-expr@v1.1.0").commit != known.pin("sample-expr@v1.0.0").commit
    assert step_of(known, "packed_rows", "base/4k").target() == step_of(corpus, "packed_rows", "base/4k").target()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sample-format@v1.0.0", "a pin of sample-format"),
        ("sample-expr@v9", "a tag, a branch"),
        ("sample-expr", "NAME@REF"),
        ("sample-expr@", "nothing after the @"),
    ],
)
def test_a_reference_that_cannot_be_is_rejected(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        add_references(pin_corpus(tmp_path, SAMPLE, ["sample-expr"]), [text])


def test_what_another_run_has_put_into_the_lock_meanwhile_stays_there(tmp_path: Path) -> None:
    early = pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0"])
    add_references(early, ["sample-expr@v1.1.0"])
    pin_tokenizer(early, TokenizerPin("c" * 40, "5" * 64))
    assert [repo.ref for repo in open_corpus(tmp_path).known_refs] == ["v1.0.0", "v1.1.0"]
    assert pin_corpus(tmp_path, SAMPLE, ["sample-expr"]).lock.tokenizer is not None


def test_making_a_reference_takes_its_own_stages_and_those_of_the_tokenizer_and_no_other(tmp_path: Path) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0", "sample-format"])
    known, added = add_references(corpus, ["sample-expr@v1.1.0"])
    assert [step.name for step in planned_steps(known, RunPlan((), refs=added))] == [
        "pinned_repos sample-expr@v1.0.0",
        "pinned_repos sample-expr@v1.1.0",
        "pinned_repos sample-format@v1.0.0",
        "curated_files sample-expr@v1.1.0",
        "semantic_jsonl sample-expr@v1.1.0",
        f"tokenizer {SAMPLE.dataset}",
        "tokenized_parquet sample-expr@v1.1.0",
        "v6_enriched sample-expr@v1.1.0",
    ]
    first = planned_steps(known, RunPlan((), "semantic_jsonl", added))
    assert [step.partition for step in first] == ["sample-expr@v1.1.0"] * 3


def test_another_tokenizer_than_the_pinned_one_is_rejected(tmp_path: Path) -> None:
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
    return commit_tokenizer(root, dataset, files, "f" * 64)


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


def test_a_repository_asked_for_twice_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="each repository once"):
        pin_corpus(tmp_path, SAMPLE, ["sample-expr@v1.0.0", "sample-expr@v1.1.0"])


def test_a_specialist_without_a_repository_is_rejected(tmp_path: Path) -> None:
    corpus = pin_corpus(tmp_path, SAMPLE, ["sample-expr"])
    with pytest.raises(SpecError, match="templates"):
        corpus.mixtures(["small_cpp"], ["4k"])


def test_a_persons_own_recipe_and_catalogue_are_followed(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        '[repo.mine]\nurl = "sample://sample-expr"\nref = "v1.0.0"\nlicense = "MIT"\nspecialist = "small_cpp"\n'
    )
    (tmp_path / "mine.toml").write_text(
        'dataset = "mine"\ncatalogue = "own.toml"\nrepos = ["mine"]\ncurriculum = ["16k"]\n[training]\nsteps = 9\n'
    )
    recipe = load_recipe(str(tmp_path / "mine.toml"))
    make_sample_repositories(tmp_path / "data")
    pin_corpus(tmp_path / "data", recipe, recipe.repos)
    corpus = open_corpus(tmp_path / "data")
    assert (corpus.dataset, corpus.recipe.training.steps, corpus.recipe.curriculum) == ("mine", 9, ("16k",))
    assert [(pin.name, pin.ref) for pin in corpus.lock.repos] == [("mine", "v1.0.0")]


def _weighing(tmp_path: Path, category: str) -> Corpus:
    (tmp_path / "own.toml").write_text(
        f'[repo.mine]\nurl = "sample://sample-expr"\nref = "v1.0.0"\n{category}\n'
        '[repo.other]\nurl = "sample://sample-format"\nref = "v1.0.0"\ncategory = "databases"\n'
    )
    (tmp_path / "mine.toml").write_text(
        'dataset = "mine"\ncatalogue = "own.toml"\nrepos = ["mine", "other"]\ncurriculum = ["4k"]\n'
        "[mixture.categories]\ncrypto = 0.5\n[specialists.numerics]\nmine = 3\nother = 2\n"
        '[specialists.stored]\n"category:databases" = 4\n'
    )
    recipe = load_recipe(str(tmp_path / "mine.toml"))
    make_sample_repositories(tmp_path / "data")
    return pin_corpus(tmp_path / "data", recipe, recipe.repos)


def test_a_mixture_takes_a_repository_by_its_own_weight_times_that_of_its_category(tmp_path: Path) -> None:
    corpus = _weighing(tmp_path, 'category = "crypto"')
    assert corpus.weights("base") == {"mine": 0.5}
    assert corpus.weights("numerics") == {"mine": 1.5, "other": 2.0}
    assert corpus.weights("stored") == {"mine": 0.5, "other": 4.0}


def test_a_pinned_repository_is_of_the_category_that_the_catalogue_says_now(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"repository mine; expected a category, as .*; found none; .*\[repo.mine\]"):
        _weighing(tmp_path, "").weights("base")
    assert _weighing(tmp_path, 'category = "crypto"').weights("base") == {"mine": 0.5}
