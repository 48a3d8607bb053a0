"""The quality page says what the statistics hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.specials import FIXED_IDS
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.report.page import PAGE_FILE, category_page, quality_page
from megacpp_assets.tokenizer.stage import TokenizerSpec, run
from megacpp_assets.tokenizer.train import RARE_COUNT, train
from tests.tokenizer.conftest import REPO, native_sources, publish_raw, statistics_of


def test_the_published_page_is_that_of_the_published_statistics(published: Artifact) -> None:
    statistics = statistics_of(published)
    page = published.file(PAGE_FILE).read_text(encoding="utf-8")
    assert page == quality_page(statistics)
    whole = statistics.whole
    row = f"| all | {whole.files:,} | {whole.bytes:,} | {whole.tokens:,} | {whole.bytes / whole.tokens:.3f} |"
    assert row in page and "| round-trip failures | 0 |" in page and "| identifier |" in page


def test_a_count_over_the_limit_of_the_reference_is_reported(published: Artifact) -> None:
    statistics = replace(statistics_of(published), reference_overflows=True)
    assert "would overflow" in quality_page(statistics)
    assert "would overflow" not in quality_page(statistics_of(published))


@pytest.fixture(scope="module")
def unfilled(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """A tokenizer of more ids than its corpus can fill."""
    root = tmp_path_factory.mktemp("unfilled")
    publish_raw(root, native_sources())
    return run(TokenizerSpec(root, "demo_v1", (REPO,), TokenizerRecipe(vocabulary_size=10_000)))


def test_a_vocabulary_that_the_corpus_cannot_fill_is_reported(published: Artifact, unfilled: Artifact) -> None:
    statistics = statistics_of(unfilled)
    page = quality_page(statistics)
    assert statistics.last_merge_count < RARE_COUNT and statistics.filled_size is not None
    assert f"| learned ids that occur fewer than 10 times | {statistics.rare_ids:,} |" in page
    assert (
        f"| vocabulary that the corpus can fill | {statistics.filled_size:,} ids; use fewer ids or more text |" in page
    )
    assert "| vocabulary that the corpus can fill | the whole of it |" in quality_page(statistics_of(published))
    assert "can fill" not in quality_page(replace(statistics, rare_ids=None))


def test_the_reported_size_is_the_largest_whose_last_merge_is_frequent(unfilled: Artifact) -> None:
    size = statistics_of(unfilled).filled_size
    assert size is not None
    texts = list(native_sources().values())
    fits, above = (train(texts, TokenizerRecipe(vocabulary_size=size + more)) for more in (0, 1))
    assert fits.last_count >= RARE_COUNT > above.last_count


def test_rare_ids_are_those_that_occur_fewer_than_ten_times_in_the_corpus(unfilled: Artifact) -> None:
    encoder = Encoder.load(unfilled.directory)
    uses = Counter(int(token) for text in native_sources().values() for token in encoder.encode_bytes(text))
    learned = range(FIXED_IDS, FIXED_IDS + statistics_of(unfilled).learned_ids)
    assert statistics_of(unfilled).rare_ids == sum(uses[token] < RARE_COUNT for token in learned)


def test_categories_are_columns_and_repositories_rows() -> None:
    first = {"func_body": {"bytes": 30, "tokens": 10}, "comment": {"bytes": 0, "tokens": 0}}
    page = category_page({"a@1": first, "b@1": {"comment": {"bytes": 9, "tokens": 2}}})
    assert "| repository | func_body | comment |" in page
    assert "| a@1 | 3.000 |  |" in page and "| b@1 |  | 4.500 |" in page
