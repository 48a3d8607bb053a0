"""Tests of `tokenized_parquet` as a whole: real JSONL in, real encoder, published shards out."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import LineageGap, SchemaViolation
from megacpp_assets.contract.schemas import TOKENIZED
from megacpp_assets.quality.tokenized import check
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenized.stage import BATCH_DOCUMENTS, TokenizedParquetSpec, run
from megacpp_assets.tokenizer.encoder import Encoder
from tests.tokenized.documents import BUDGETS, DATASET, REPO, publish_jsonl, publish_tokenizer, record

TRAIN, VAL = (c.of_budget(4096, name) for name in (c.parquet_shard(0), c.VAL_SHARD))
LINE = "    total += weights[index] * values[index];  // naïve 名\n"


def documents(count: int) -> list[dict[str, Any]]:
    return [record(f"fmt@11.0.0:{index:04d}", LINE * (1 + index % 7), [(0, 10)]) for index in range(count)]


def tokenized(root: Path, *records: dict[str, Any]) -> Artifact:
    publish_tokenizer(root)
    publish_jsonl(root, records)
    return run(TokenizedParquetSpec(root, DATASET, REPO, BUDGETS))


def tables(artifact: Artifact) -> dict[str, pa.Table]:
    return {f"{file.parent.name}/{file.name}": pq.read_table(file) for file in artifact.files(".parquet")}


def test_every_document_is_on_one_side_in_order_and_decodes_to_its_text(tmp_path: Path) -> None:
    artifact = tokenized(tmp_path, *documents(BATCH_DOCUMENTS + 40))
    sides = tables(artifact)
    assert all(table.schema == TOKENIZED for table in sides.values())
    assert set(sides) == {TRAIN, VAL}
    ids = {name: table[c.DOC_ID].to_pylist() for name, table in sides.items()}
    assert all(names == sorted(names) for names in ids.values())
    assert sorted(ids[TRAIN] + ids[VAL]) == [d["doc_id"] for d in documents(BATCH_DOCUMENTS + 40)]
    decode = Encoder.load(publish_tokenizer(tmp_path).directory).decode
    for table in sides.values():
        for row in table.to_pylist():
            assert decode(row[c.TOKEN_IDS_COLUMN]).decode() == row[c.TEXT]


def test_statistics_count_what_the_files_hold(tmp_path: Path) -> None:
    held = [record(f"fmt@11.0.0:held{number}", LINE, split="valid") for number in range(3)]
    artifact = tokenized(tmp_path, *documents(30), *held, record("fmt@11.0.0:long", LINE * 700, [(0, 700 * len(LINE))]))
    both = pa.concat_tables(tables(artifact).values())
    validation = tables(artifact)[VAL]
    stats, stats_of = artifact.manifest.stats, artifact.manifest.stats["budgets"]["4096"]
    counts = both[c.ACTUAL_TOKEN_COUNT].to_pylist()
    texts = both[c.TEXT].to_pylist()
    assert stats["documents"] == both.num_rows > 34
    assert stats["split_documents"] == 1 and stats_of["max_tokens"] == max(counts) <= 4096
    assert stats["tokens"] == sum(counts)
    assert stats["characters"] == sum(map(len, texts)) and stats["text_bytes"] == sum(len(t.encode()) for t in texts)
    assert stats["val_documents"] == validation.num_rows == 3
    assert stats["val_tokens"] == sum(validation[c.ACTUAL_TOKEN_COUNT].to_pylist())
    bounds = [0] + [bound for bound, _ in stats_of["token_histogram"]]
    assert [count for _, count in stats_of["token_histogram"]] == [
        sum(low < tokens <= high for tokens in counts) for low, high in pairwise(bounds)
    ]


def test_a_repository_without_documents_has_both_files_and_no_rows(tmp_path: Path) -> None:
    artifact = tokenized(tmp_path)
    assert {name: table.num_rows for name, table in tables(artifact).items()} == {
        TRAIN: 0,
        VAL: 0,
    }
    assert artifact.manifest.stats["documents"] == 0


def test_two_roots_give_the_same_bytes_and_a_rerun_writes_nothing(tmp_path: Path) -> None:
    short, long = (
        tokenized(tmp_path / "a", *documents(20)),
        tokenized(tmp_path / "b" / "longer" / "path", *documents(20)),
    )
    assert short.manifest == long.manifest
    before = {file: file.stat().st_mtime_ns for file in short.directory.rglob("*")}
    assert run(TokenizedParquetSpec(tmp_path / "a", DATASET, REPO, BUDGETS)) == short
    assert {file: file.stat().st_mtime_ns for file in short.directory.rglob("*")} == before


def test_any_number_of_workers_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = record("fmt@11.0.0:long", LINE * 700, [(0, 700 * len(LINE))])
    made = []
    for workers in (1, 2):
        monkeypatch.setenv("MEGACPP_WORKERS", str(workers))
        made.append(tokenized(tmp_path / str(workers), *documents(BATCH_DOCUMENTS + 9), long))
    one, two = (artifact.manifest for artifact in made)
    assert one.to_bytes() == two.to_bytes() and one.stats["split_documents"] == 1


def test_progress_counts_records_up_to_all_of_them(tmp_path: Path) -> None:
    publish_tokenizer(tmp_path)
    publish_jsonl(tmp_path, documents(BATCH_DOCUMENTS + 1))
    heard: list[tuple[int, int]] = []
    run(TokenizedParquetSpec(tmp_path, DATASET, REPO, BUDGETS), lambda done, total: heard.append((done, total)))
    assert heard == [(BATCH_DOCUMENTS, BATCH_DOCUMENTS + 1), (BATCH_DOCUMENTS + 1, BATCH_DOCUMENTS + 1)]


def test_a_document_of_a_larger_budget_stays_whole_where_the_least_budget_splits_it(tmp_path: Path) -> None:
    long = record("fmt@11.0.0:long", LINE * 1200, [(0, 500 * len(LINE)), (500 * len(LINE), 1200 * len(LINE))])
    budgets = (4096, 65_536)
    publish_tokenizer(tmp_path)
    publish_jsonl(tmp_path, [*documents(3), long], {65_536: [long]})
    artifact = run(TokenizedParquetSpec(tmp_path, DATASET, REPO, budgets))
    made = tables(artifact)
    pieces, whole = (
        pa.concat_tables(made[c.of_budget(budget, name)] for name in (c.parquet_shard(0), c.VAL_SHARD))
        for budget in budgets
    )
    assert max(pieces[c.ACTUAL_TOKEN_COUNT].to_pylist()) <= 4096 < whole[c.ACTUAL_TOKEN_COUNT][0].as_py() <= 65_536
    assert whole[c.TEXT].to_pylist() == [long["text"]]
    cut = [row for row in pieces.to_pylist() if ":long" in row[c.DOC_ID]]
    assert "".join(row[c.TEXT] for row in sorted(cut, key=lambda row: row[c.DOC_ID])) == long["text"]
    stats_of = artifact.manifest.stats["budgets"]
    assert (stats_of["4096"]["split_documents"], stats_of["65536"]["split_documents"]) == (1, 0)
    assert stats_of["65536"]["token_histogram"][-1] == [65_536, 1]
    assert artifact.manifest.stats["documents"] == pieces.num_rows + 1
    assert [result for result in check(artifact) if not result.passed] == []


def test_text_that_spells_a_special_token_makes_none(tmp_path: Path) -> None:
    artifact = tokenized(tmp_path, record("d", "x = <BOS> <PAD> <EOS>; // <FIM_PREFIX>"), record("e", "<BOS><BOS>"))
    for table in tables(artifact).values():
        for ids in table[c.TOKEN_IDS_COLUMN].to_pylist():
            assert ids[0] == 2 and min(ids[1:]) >= 46


def test_a_bad_record_publishes_nothing(tmp_path: Path) -> None:
    with pytest.raises(SchemaViolation, match="structure_ids"):
        tokenized(tmp_path, *documents(5), record("bad", "int x;", structure_ids=[1]))
    assert not (tmp_path / f"parquet/{DATASET}/{REPO.key}/_COMPLETE").exists()


def test_without_a_tokenizer_the_stage_says_which_input_is_missing(tmp_path: Path) -> None:
    publish_jsonl(tmp_path, documents(2))
    with pytest.raises(LineageGap, match=f"tokenizer/{DATASET}"):
        run(TokenizedParquetSpec(tmp_path, DATASET, REPO, BUDGETS))


def test_documents_longer_than_the_rows_are_split_to_fit_them_where_the_recipe_says_so(tmp_path: Path) -> None:
    long = record("fmt@11.0.0:long", LINE * 1200, [(0, 500 * len(LINE)), (500 * len(LINE), 1200 * len(LINE))])
    publish_tokenizer(tmp_path)
    publish_jsonl(tmp_path, documents(3), {65_536: [long]})
    artifact = run(TokenizedParquetSpec(tmp_path, DATASET, REPO, (4096, 65_536), {65_536: 4096}))
    made = [table for name, table in tables(artifact).items() if name.startswith("65536/")]
    rows = pa.concat_tables(made).sort_by(c.DOC_ID)
    assert rows.num_rows > 1 and max(rows[c.ACTUAL_TOKEN_COUNT].to_pylist()) <= 4096
    assert "".join(rows[c.TEXT].to_pylist()) == long["text"]
    assert [result for result in check(artifact) if not result.passed] == []
