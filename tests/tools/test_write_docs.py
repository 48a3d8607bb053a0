"""docs/recipes.md and docs/columns.md are what the code says."""

from __future__ import annotations

import pytest

from tools import write_docs


@pytest.mark.parametrize("page", ["recipes", "columns"])
def test_page_is_up_to_date(page: str) -> None:
    written = getattr(write_docs, f"{page}_page")()
    assert (write_docs.DOCS / f"{page}.md").read_text() == written, "run: python tools/write_docs.py"
