"""The check of documents that compile: it warns of few, except of plain files, which have no context."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from megacpp_assets.quality.semantic import CHECKS


@pytest.mark.parametrize(
    ("strategy", "compiled", "holds"),
    [("clustered", 8, False), ("clustered", 9, True), ("per_chunk", 8, False), ("file", 8, True)],
)
def test_few_documents_that_compile_are_warned_of_except_plain_files(strategy: str, compiled: int, holds: bool) -> None:
    stats = {"documents_parsed": 20, "documents_compiled": compiled, "documents_compile_errors": {"syntax": 11}}
    manifest = SimpleNamespace(stats=stats, config={"strategy": strategy})
    semantic: Any = SimpleNamespace(artifact=SimpleNamespace(manifest=manifest))
    (check,) = (each for each in CHECKS if each.name == "documents_compile")
    verdict = check.judge(semantic)
    assert verdict.holds is holds and verdict.found.startswith(f"{compiled} of 20; syntax in 11")
    assert ("plain files" in verdict.found) is (strategy == "file")
