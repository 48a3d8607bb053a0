"""The quality page says what the statistics hold."""

from __future__ import annotations

from dataclasses import replace

from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.page import PAGE_FILE, quality_page
from megacpp_assets.tokenizer.stage import read_statistics


def test_the_published_page_is_that_of_the_published_statistics(published: Artifact) -> None:
    statistics = read_statistics(published)
    page = published.file(PAGE_FILE).read_text(encoding="utf-8")
    assert page == quality_page(statistics)
    whole = statistics.whole
    row = f"| all | {whole.files:,} | {whole.bytes:,} | {whole.tokens:,} | {whole.bytes / whole.tokens:.3f} |"
    assert row in page and "| round-trip failures | 0 |" in page and "| identifier |" in page


def test_a_count_that_the_reference_cannot_hold_is_told(published: Artifact) -> None:
    statistics = replace(read_statistics(published), reference_overflows=True)
    assert "would overflow" in quality_page(statistics)
    assert "would overflow" not in quality_page(read_statistics(published))
