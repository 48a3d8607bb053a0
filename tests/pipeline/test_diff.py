"""Comparing two registered tokenizers: what only one of them has counts on either side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.pipeline.pins.tokenizers import VocabularyDiff, diff_vocabularies
from megacpp_assets.tokenizer.lock import pin_of
from megacpp_assets.tokenizer.registry import commit_tokenizer, read_committed
from megacpp_assets.tokenizer.stage import TokenizerSpec, run
from tests.tokenizer.conftest import REPO, native_sources, publish_raw

SMALL, LARGE = TokenizerRecipe(7600), TokenizerRecipe(7700, "general")


def _commit(root: Path, texts: Sequence[str], merges: Sequence[tuple[str, str]], recipe: TokenizerRecipe) -> str:
    model = {"vocab": {text: index for index, text in enumerate(texts)}, "merges": merges}
    described = {"dataset": "d", "recipe": asdict(recipe), "version": "3"}
    files = {"tokenizer.json": json.dumps({"model": model}).encode(), "recipe.json": canonical_json(described)}
    return commit_tokenizer(root, "d", files, "f" * 64)


def test_ids_and_merges_of_one_side_alone_count_whichever_side_it_is(tmp_path: Path) -> None:
    short = _commit(tmp_path, ["a", "b", "ab"], [("a", "b")], SMALL)
    long = _commit(tmp_path, ["a", "b", "aa", "ab", "ba"], [("a", "a"), ("a", "b"), ("b", "a")], LARGE)
    assert diff_vocabularies(tmp_path, short, long) == VocabularyDiff(3, 3, (), ("aa", "ba"), (SMALL, LARGE))
    assert diff_vocabularies(tmp_path, long, short) == VocabularyDiff(3, 3, ("aa", "ba"), (), (LARGE, SMALL))


def test_the_same_strings_merged_in_another_order_differ(tmp_path: Path) -> None:
    texts = ["a", "b", "ab", "ba"]
    one = _commit(tmp_path, texts, [("a", "b"), ("b", "a")], SMALL)
    two = _commit(tmp_path, texts, [("b", "a"), ("a", "b")], SMALL)
    assert diff_vocabularies(tmp_path, one, two) == VocabularyDiff(0, 2, (), (), (SMALL, SMALL))


def test_two_trained_tokenizers_differ_as_their_files_do_and_neither_from_itself(tmp_path: Path) -> None:
    publish_raw(tmp_path, native_sources())
    one, two = (pin_of(run(TokenizerSpec(tmp_path, "d", (REPO,), recipe))).commit for recipe in (SMALL, LARGE))
    first, second = (
        json.loads(read_committed(tmp_path, commit, "tokenizer.json"))["model"]["vocab"] for commit in (one, two)
    )
    found = diff_vocabularies(tmp_path, one, two)
    keys = [{index: text for text, index in vocabulary.items()} for vocabulary in (first, second)]
    assert found.changed_ids == sum(keys[0].get(index) != keys[1].get(index) for index in range(7700)) >= 100
    assert found.changed_merges > 0
    assert (set(found.only_first), set(found.only_second)) == (set(first) - set(second), set(second) - set(first))
    itself = diff_vocabularies(tmp_path, two, two[:12])
    assert (itself.changed_ids, itself.changed_merges, itself.only_first, itself.only_second) == (0, 0, (), ())
