"""Tests of `v6_enriched` as a whole: published token parquet in, enriched shards out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import LineageGap, SchemaViolation
from megacpp_assets.contract.schemas import ENRICHED
from megacpp_assets.enriched.stage import V6EnrichedSpec, run
from megacpp_assets.enriched.totals import CATEGORIES
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import RowGroupWriter
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import parquet_path
from megacpp_assets.tokenized import stage as tokenized
from tests.enriched.slow_twin import enrich
from tests.tokenized.documents import (
    BUDGETS,
    DATASET,
    REPO,
    call_edge,
    publish_jsonl,
    publish_tokenizer,
    record,
    type_edge,
)

VAL = c.of_budget(4096, c.VAL_SHARD)
SPEC_TEXT = "struct point { int x; };\n\nint área(point p) { return p.x; } // 名\n"


def documents(count: int) -> list[dict[str, Any]]:
    spans = [(0, 24), (26, 60), (60, 65)]
    edges = {"call_edges": [call_edge(1, 1)], "type_edges": [type_edge(0, 1), type_edge(0, 2)]}
    return [record(f"fmt@11.0.0:{index:03d}", SPEC_TEXT, spans, **edges) for index in range(count)]


def prepare(root: Path, count: int) -> Artifact:
    publish_tokenizer(root)
    publish_jsonl(root, documents(count))
    return tokenized.run(tokenized.TokenizedParquetSpec(root, DATASET, REPO, BUDGETS))


def test_shards_keep_their_names_rows_and_text_and_equal_the_slow_twin(tmp_path: Path) -> None:
    source = prepare(tmp_path, 12)
    artifact = run(V6EnrichedSpec(tmp_path, DATASET, REPO, BUDGETS))
    assert [file.name for file in artifact.files("")] == [file.name for file in source.files("")]
    for before, after in zip(source.files(""), artifact.files(""), strict=True):
        rows, enriched = pq.read_table(before), pq.read_table(after)
        assert enriched.schema == ENRICHED
        assert enriched[c.TEXT].equals(rows[c.TEXT])
        assert enriched.to_pylist() == [enrich(row) for row in rows.to_pylist()]


def test_statistics_count_what_the_files_hold(tmp_path: Path) -> None:
    source = prepare(tmp_path, 12)
    stats = dict(run(V6EnrichedSpec(tmp_path, DATASET, REPO, BUDGETS)).manifest.stats)
    assert stats.pop(CATEGORIES)
    assert stats == {
        "documents": 12,
        "tokens": source.manifest.stats["tokens"],
        "text_bytes": source.manifest.stats["text_bytes"],
        "chunks": 36,
        "call_edges": 12,
        "type_edges": 24,
        "dropped_edges": 0,
    }


def test_two_roots_give_the_same_bytes_and_a_rerun_writes_nothing(tmp_path: Path) -> None:
    manifests = []
    for root in (tmp_path / "a", tmp_path / "b" / "longer" / "path"):
        prepare(root, 9)
        manifests.append(run(V6EnrichedSpec(root, DATASET, REPO, BUDGETS)).manifest)
    assert manifests[0] == manifests[1]
    directory = tmp_path / "a" / "enriched" / DATASET / REPO.key
    before = {file: file.stat().st_mtime_ns for file in directory.rglob("*")}
    run(V6EnrichedSpec(tmp_path / "a", DATASET, REPO, BUDGETS))
    assert {file: file.stat().st_mtime_ns for file in directory.rglob("*")} == before


def test_a_repository_without_documents_gives_empty_shards(tmp_path: Path) -> None:
    prepare(tmp_path, 0)
    artifact = run(V6EnrichedSpec(tmp_path, DATASET, REPO, BUDGETS))
    assert {pq.read_table(file).num_rows for file in artifact.files("")} == {0}
    assert artifact.manifest.stats["tokens"] == 0


def test_token_parquet_without_spans_is_rejected_and_nothing_published(tmp_path: Path) -> None:
    source = prepare(tmp_path, 3)
    table = pq.read_table(source.file(VAL)).drop_columns([c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS])

    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        with publication.file(VAL) as pending, RowGroupWriter(pending.path, table.schema) as writer:
            writer.write(table)
        return {}

    publish(
        Target(tmp_path, parquet_path(DATASET, REPO), "tokenized_parquet", REPO.key, "old", {"budgets": [*BUDGETS]}),
        produce,
    )
    with pytest.raises(SchemaViolation, match="tokenizer without spans"):
        run(V6EnrichedSpec(tmp_path, DATASET, REPO, BUDGETS))
    assert not (tmp_path / "enriched" / DATASET / REPO.key / c.COMPLETE_FILE).exists()


def test_a_changed_input_is_rejected_by_name(tmp_path: Path) -> None:
    source = prepare(tmp_path, 3)
    data = bytearray(source.file(VAL).read_bytes())
    data[200] ^= 1
    source.file(VAL).write_bytes(data)
    with pytest.raises(LineageGap, match=VAL):
        run(V6EnrichedSpec(tmp_path, DATASET, REPO, BUDGETS))


def test_progress_counts_rows_up_to_all_of_them(tmp_path: Path) -> None:
    prepare(tmp_path, 7)
    heard: list[tuple[int, int]] = []
    run(V6EnrichedSpec(tmp_path, DATASET, REPO, BUDGETS), lambda done, total: heard.append((done, total)))
    assert heard[-1] == (7, 7) and {total for _, total in heard} == {7}
