"""A document set without a document has no shard. Its counts and a warning say what left the documents out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from megacpp_assets.quality import versions, windows
from megacpp_assets.quality.versions import VersionScan
from megacpp_assets.storage.publish import Publication
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.judge import ANSWER, SECRET
from megacpp_assets.versions.spools import spools

LEFT_OUT = {"v4_4096": Counter({SECRET: 2, ANSWER: 1, "no function modified": 1}), "v4_65536": Counter[str]()}


def _written(folder: Path) -> dict[Any, dict[str, Any]]:
    """The statistics of a set without a document and of one with a document."""
    with spools(tuple(LEFT_OUT)) as spooled:
        spooled.emit("v4_65536", b"{}\n")
        return spooled.write(Publication(folder), LEFT_OUT)


def _scan(budgets: dict[Any, dict[str, Any]], **documents: int) -> VersionScan:
    class NoBlobs:
        def read(self, blob: str) -> bytes:
            raise LookupError(blob)

    return VersionScan({"budgets": budgets}, {}, FileVersions(NoBlobs(), 1), {}, Counter(documents))


def test_a_set_without_a_document_has_no_shard_and_the_counts_of_what_was_left_out(tmp_path: Path) -> None:
    stats = _written(tmp_path)
    assert stats["v4_4096"] == {"documents": 0, "json_bytes": 0, "shards": 0, "left_out": dict(LEFT_OUT["v4_4096"])}
    assert (stats["v4_65536"]["documents"], stats["v4_65536"]["shards"]) == (1, 1)
    assert [path.parent.name for path in tmp_path.rglob("*.zst")] == ["v4_65536"]


def test_a_set_without_a_document_is_a_warning_that_names_the_rules_and_the_keys_that_decide_them(
    tmp_path: Path,
) -> None:
    for table in (versions.CHECKS, windows.CHECKS):
        (check,) = (each for each in table if each.name == "has_documents")
        verdict = check.judge(_scan(_written(tmp_path / table[-1].name), v4_65536=1))
        assert not verdict.holds and not check.blocking
        rules = f"{ANSWER} 1 (curation.benchmark_action), no function modified 1, {SECRET} 2 (curation.secrets)"
        assert verdict.found == f"none of v4_4096, left out: {rules}"


def test_other_documents_than_the_statistics_count_stop_the_stage(tmp_path: Path) -> None:
    (check,) = (each for each in versions.CHECKS if each.name == "documents_are_counted")
    budgets = _written(tmp_path)
    assert check.blocking and check.judge(_scan(budgets, v4_65536=1)).holds
    assert not check.judge(_scan(budgets)).holds
    assert not check.judge(_scan(budgets, v4_65536=1, v4_4096=1)).holds
