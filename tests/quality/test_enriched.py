"""Tests of the checks of `v6_enriched`: all pass on real output, and each alone fails on its own fault."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.enriched.stage import V6EnrichedSpec, run
from megacpp_assets.quality.enriched import CHECKS, check
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import enriched_path, parquet_path
from megacpp_assets.tokenized import stage as tokenized
from tests.quality.planting import Row, replace_table, rewrite
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

TRAIN = "4096/shard_00000.parquet"
VAL = "4096/val_shard.parquet"
TEXT = "// 名\nint área(int x) { return x; }\n"
DOCUMENTS = [
    record(f"fmt@11.0.0:{index}", TEXT, [(5, 20), (21, 35)], call_edges=[call_edge(0, 1)], type_edges=[type_edge(1, 0)])
    for index in range(6)
]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pristine")
    prepare(root, DOCUMENTS)
    return root


def prepare(root: Path, documents: list[Row]) -> Artifact:
    publish_tokenizer(root)
    publish_jsonl(root, documents)
    tokenized.run(tokenized.TokenizedParquetSpec(root, DATASET, REPO, BUDGETS))
    return run(V6EnrichedSpec(root, DATASET, REPO, BUDGETS))


@pytest.fixture
def artifact(pristine: Path, tmp_path: Path) -> Artifact:
    shutil.copytree(pristine, tmp_path / "root")
    return open_artifact(tmp_path / "root", enriched_path(DATASET, REPO))


def failed(artifact: Artifact) -> list[str]:
    return [result.name for result in check(artifact) if not result.passed]


def test_real_output_passes_every_check_in_the_declared_order(artifact: Artifact) -> None:
    results = check(artifact)
    assert [result.name for result in results] == [check.name for check in CHECKS]
    assert [result for result in results if not result.passed] == []


def test_a_repository_without_documents_passes(tmp_path: Path) -> None:
    assert failed(prepare(tmp_path, [])) == []


def test_documents_without_chunks_pass(tmp_path: Path) -> None:
    assert failed(prepare(tmp_path, [record(f"d{index}", "int x;") for index in range(3)])) == []


def put(column: str, index: int, value: object) -> Callable[[list[Row]], object]:
    """The fault of one wrong value in the first row."""
    return lambda rows: rows[0][column].__setitem__(index, value)


def set_last_token(rows: list[Row]) -> None:
    """Another ordinary token in place of the last: only the stage before can tell."""
    rows[0][c.TOKEN_IDS_COLUMN][-1] = 100


def swap_first_tokens(rows: list[Row]) -> None:
    ids = rows[0][c.TOKEN_IDS_COLUMN]
    ids[0], ids[1] = ids[1], ids[0]


FAULTS: dict[str, list[Callable[[list[Row]], object]]] = {
    "column_lengths": [
        lambda rows: rows[0].update(actual_token_count=7),
        lambda rows: rows[0][c.TOKEN_DEP_LEVELS_COLUMN].append(0),
        lambda rows: rows[0][c.TOKEN_CHUNK_KINDS_COLUMN].append(0),
    ],
    "categories_known": [put(c.TOKEN_CHUNK_KINDS_COLUMN, 0, 9)],
    "chunk_spans_inside": [put(c.TOKEN_CHUNK_ENDS_COLUMN, 1, 999), put(c.TOKEN_CHUNK_ENDS_COLUMN, 0, 1)],
    "edges_inside_chunks": [
        put(c.TOKEN_CALL_EDGES_COLUMN, 0, {"from": 0, "to": 2}),
        put(c.TOKEN_TYPE_EDGES_COLUMN, 0, {"from": 9, "to": 0}),
    ],
    "dep_levels_follow_chunks": [put(c.TOKEN_CHUNK_DEP_LEVELS_COLUMN, 1, 7), put(c.TOKEN_DEP_LEVELS_COLUMN, 0, 1)],
    "provenance_of_partition": [lambda rows: rows[0].update(commit_hash=None)],
    "platforms_unchanged": [lambda rows: rows[0].update(platform_ids=[1, 2])],
    "text_unchanged": [lambda rows: rows[0].update(text=TEXT.replace("return", "RETURN"))],
    "tokens_conserved": [set_last_token],
    "first_character_rule": [
        put(c.TOKEN_STRUCTURE_IDS_COLUMN, 0, 1),
        put(c.TOKEN_SYMBOL_IDS_COLUMN, -1, 4_000_000_000),
        put(c.TOKEN_AST_DEPTH_COLUMN, 5, 999),
    ],
}


@pytest.mark.parametrize(
    ("name", "fault"),
    [pytest.param(name, fault, id=f"{name}{index}") for name in FAULTS for index, fault in enumerate(FAULTS[name])],
)
def test_a_planted_fault_fails_its_check_and_no_other(
    artifact: Artifact, name: str, fault: Callable[[list[Row]], object]
) -> None:
    assert failed(rewrite(artifact, TRAIN, fault)) == [name]


UPSTREAM_FAULTS = {
    "first_token_is_bos": swap_first_tokens,
    "bos_count_is_documents": put(c.TOKEN_IDS_COLUMN, 4, 2),
    "text_makes_no_special_token": put(c.TOKEN_IDS_COLUMN, 4, 3),
    "platforms_known": lambda rows: rows[0].update(platform_ids=[109, 1]),
    "ids_below_vocabulary": put(c.TOKEN_IDS_COLUMN, 4, 7300),
}


@pytest.mark.parametrize("name", UPSTREAM_FAULTS)
def test_a_fault_of_the_token_parquet_is_seen_again_after_enriching(artifact: Artifact, name: str) -> None:
    """The same rules hold here, so a bad token parquet cannot pass on."""
    source = open_artifact(artifact.root, parquet_path(DATASET, REPO))
    rewrite(source, TRAIN, UPSTREAM_FAULTS[name])
    assert failed(run(V6EnrichedSpec(artifact.root, DATASET, REPO, BUDGETS))) == [name]


def test_a_document_id_used_twice_is_seen(tmp_path: Path) -> None:
    documents = [record("same", "int a;"), record("same", "int a;"), record("other", "int b;")]
    documents[1] |= {name: documents[0][name] for name in c.CHAR_COLUMNS}
    assert failed(prepare(tmp_path, documents)) == ["unique_document_ids"]


def test_a_document_lost_or_added_is_not_conserved(artifact: Artifact) -> None:
    upstream = ["text_unchanged", "tokens_conserved", "platforms_unchanged", "first_character_rule"]
    lost = rewrite(artifact, TRAIN, lambda rows: rows.pop())
    assert failed(lost) == upstream
    assert failed(rewrite(lost, TRAIN, lambda rows: rows[0].update(doc_id="fmt@11.0.0:new"))) == upstream


def test_a_document_over_the_limit_is_seen(artifact: Artifact) -> None:
    def lengthen(rows: list[Row]) -> None:
        for name in (c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS):
            rows[0][name] += [rows[0][name][-1]] * 4096
        rows[0][c.ACTUAL_TOKEN_COUNT] += 4096

    source = open_artifact(artifact.root, parquet_path(DATASET, REPO))
    assert source.manifest.stats["budgets"]["4096"]["max_tokens"] <= 4096
    assert "tokens_within_limit" in failed(rewrite(artifact, TRAIN, lengthen))


def test_another_schema_fails_and_leaves_nothing_else_asserted(artifact: Artifact) -> None:
    table = pq.read_table(artifact.file(VAL)).drop_columns([c.TOKEN_DEF_USE_COLUMN])
    results = check(replace_table(artifact, VAL, table))
    assert [result.name for result in results] == [check.name for check in CHECKS]
    assert not any(result.passed for result in results)
