"""The quality page says what the statistics hold."""

from __future__ import annotations

from dataclasses import replace

from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.report.page import PAGE_FILE, category_page, quality_page
from tests.tokenizer.conftest import statistics_of


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


def test_categories_are_columns_and_repositories_rows() -> None:
    first = {"func_body": {"bytes": 30, "tokens": 10}, "comment": {"bytes": 0, "tokens": 0}}
    page = category_page({"a@1": first, "b@1": {"comment": {"bytes": 9, "tokens": 2}}})
    assert "| repository | func_body | comment |" in page
    assert "| a@1 | 3.000 |  |" in page and "| b@1 |  | 4.500 |" in page
