"""Tests of the checks of `tokenized_parquet`: all pass on real output, and each alone fails on its own fault."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.quality.tokenized import CHECKS, check
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import jsonl_path, parquet_path
from megacpp_assets.tokenized.stage import TokenizedParquetSpec, run
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
TEXT = "int área(int x) { return x; }\n// 名 🙂\n"
LONG = "    total += weights[index];\n" * 600
DOCUMENTS = [
    *(
        record(
            f"fmt@11.0.0:{index}", TEXT, [(0, 16), (16, 30)], call_edges=[call_edge(0, 1)], type_edges=[type_edge(1, 0)]
        )
        for index in range(6)
    ),
    record("fmt@11.0.0:whole", LONG, [(0, 290), (290, len(LONG))]),
]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pristine")
    publish_tokenizer(root)
    publish_jsonl(root, DOCUMENTS)
    run(TokenizedParquetSpec(root, DATASET, REPO, BUDGETS))
    return root


@pytest.fixture
def artifact(pristine: Path, tmp_path: Path) -> Artifact:
    shutil.copytree(pristine, tmp_path / "root")
    return open_artifact(tmp_path / "root", parquet_path(DATASET, REPO))


def failed(artifact: Artifact) -> list[str]:
    return [result.name for result in check(artifact) if not result.passed]


def test_real_output_passes_every_check_in_the_declared_order(artifact: Artifact) -> None:
    results = check(artifact)
    assert [result.name for result in results] == [check.name for check in CHECKS]
    assert [result for result in results if not result.passed] == []


def test_a_repository_without_documents_passes(tmp_path: Path) -> None:
    publish_tokenizer(tmp_path)
    publish_jsonl(tmp_path, [])
    assert failed(run(TokenizedParquetSpec(tmp_path, DATASET, REPO, BUDGETS))) == []


def overlong(rows: list[Row]) -> None:
    """One document again as it was before it was split: consistent in itself, but too long."""
    pieces = [row for row in rows if ":whole" in row[c.DOC_ID]]
    whole = pieces[0]
    for piece in pieces[1:]:
        at = len(whole[c.TEXT])
        whole[c.TEXT] += piece[c.TEXT]
        for name in c.CHAR_COLUMNS:
            whole[name] += piece[name]
        whole[c.TOKEN_IDS_COLUMN] += piece[c.TOKEN_IDS_COLUMN][1:]
        for name in (c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS):
            whole[name] += [at + place for place in piece[name][1:]]
        rows.remove(piece)
    whole[c.DOC_ID], whole[c.ACTUAL_TOKEN_COUNT] = "fmt@11.0.0:whole", len(whole[c.TOKEN_IDS_COLUMN])


def swap_first_tokens(rows: list[Row]) -> None:
    ids = rows[0][c.TOKEN_IDS_COLUMN]
    ids[0], ids[1] = ids[1], ids[0]


def shift_span(rows: list[Row], column: str, token: int, by: int) -> None:
    rows[0][column][token] += by


FAULTS: dict[str, list[Callable[[list[Row]], object]]] = {
    "column_lengths": [
        lambda rows: rows[0].update(actual_token_count=rows[0]["actual_token_count"] + 1),
        lambda rows: rows[0]["symbol_ids"].append(0),
        lambda rows: rows[1].update(def_use=None),
    ],
    "spans_aligned": [
        lambda rows: shift_span(rows, c.TOKEN_CHAR_STARTS, 3, 1),
        lambda rows: shift_span(rows, c.TOKEN_CHAR_ENDS, 3, -1),
        lambda rows: shift_span(rows, c.TOKEN_CHAR_ENDS, -1, 1),
        lambda rows: shift_span(rows, c.TOKEN_CHAR_STARTS, 0, 1),
        lambda rows: shift_span(next([row] for row in rows if ":whole" in row[c.DOC_ID]), c.TOKEN_CHAR_STARTS, 3, -1),
    ],
    "first_token_is_bos": [swap_first_tokens],
    "bos_count_is_documents": [lambda rows: rows[0][c.TOKEN_IDS_COLUMN].__setitem__(4, 2)],
    "text_makes_no_special_token": [lambda rows: rows[0][c.TOKEN_IDS_COLUMN].__setitem__(4, 3)],
    "ids_below_vocabulary": [lambda rows: rows[0][c.TOKEN_IDS_COLUMN].__setitem__(-1, 7300)],
    "tokens_within_limit": [overlong],
    "chunks_within_limit": [
        lambda rows: rows[0].update(
            chunk_boundaries=rows[0][c.CHUNK_BOUNDARIES] + rows[0][c.CHUNK_BOUNDARIES][:1] * 127
        )
    ],
    "chunk_spans_inside": [
        lambda rows: rows[0][c.CHUNK_BOUNDARIES][1].update(char_end=len(TEXT) + 1),
        lambda rows: rows[0][c.CHUNK_BOUNDARIES][0].update(char_offset=-1),
        lambda rows: rows[0][c.CHUNK_BOUNDARIES][0].update(char_end=0),
    ],
    "edges_inside_chunks": [
        lambda rows: rows[0][c.CALL_EDGES][0].update(callee_idx=2),
        lambda rows: rows[0][c.TYPE_EDGES][0].update(user_idx=-1),
    ],
    "provenance_of_partition": [
        lambda rows: rows[0].update(commit_hash="f" * 40),
        lambda rows: rows[0].update(ref="11.0.1"),
        lambda rows: rows[0].update(repo="folly"),
        lambda rows: rows[0].update(license=""),
        lambda rows: rows[0].update(filepath=None),
    ],
    "documents_conserved": [
        lambda rows: rows[0].update(text="X" + rows[0]["text"][1:]),
        lambda rows: rows.pop(0),
        lambda rows: rows.remove(next(row for row in rows if row[c.DOC_ID].endswith(".0001"))),
        lambda rows: rows[0].update(doc_id="fmt@11.0.0:another"),
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


def test_a_document_id_used_twice_is_seen(tmp_path: Path) -> None:
    publish_tokenizer(tmp_path)
    publish_jsonl(tmp_path, [record("same", "int a;"), record("same", "int b;"), record("other", "int c;")])
    assert failed(run(TokenizedParquetSpec(tmp_path, DATASET, REPO, BUDGETS))) == ["unique_document_ids"]


LARGER = "65536/shard_00000.parquet"


@pytest.mark.parametrize("name", ["tokens_within_limit", "documents_conserved", "bos_count_is_documents"])
def test_a_fault_in_a_larger_budget_fails_its_check_and_no_other(tmp_path: Path, name: str) -> None:
    documents = [record(f"fmt@11.0.0:{index}", TEXT * 4) for index in range(4)]
    publish_tokenizer(tmp_path)
    publish_jsonl(tmp_path, documents, {65_536: documents})
    artifact = run(TokenizedParquetSpec(tmp_path, DATASET, REPO, (4096, 65_536)))
    assert failed(artifact) == []

    def lengthen(rows: list[Row]) -> None:
        row, times = rows[0], 66_000
        for column in (c.TOKEN_IDS_COLUMN, c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS):
            row[column] = row[column][:1] + [500] * times
        row[c.TOKEN_CHAR_STARTS], row[c.TOKEN_CHAR_ENDS] = [0, *range(times)], [0, *range(1, times + 1)]
        row[c.ACTUAL_TOKEN_COUNT], row[c.TEXT] = times + 1, "x" * times
        for column in c.CHAR_COLUMNS:
            row[column] = [0] * times

    faults = {
        "tokens_within_limit": lengthen,
        "documents_conserved": lambda rows: rows.pop(0),
        "bos_count_is_documents": lambda rows: rows[0][c.TOKEN_IDS_COLUMN].__setitem__(4, 2),
    }
    expected = {name, "documents_conserved"} if name == "tokens_within_limit" else {name}
    assert set(failed(rewrite(artifact, LARGER, faults[name]))) == expected


def test_another_schema_fails_and_leaves_nothing_else_asserted(artifact: Artifact) -> None:
    table = pq.read_table(artifact.file(VAL)).drop_columns([c.DEF_USE])
    results = check(replace_table(artifact, VAL, table))
    assert [result.name for result in results] == [check.name for check in CHECKS]
    assert not any(result.passed for result in results)
    assert VAL in results[0].found


def test_a_failed_check_names_the_first_document(artifact: Artifact) -> None:
    broken = rewrite(artifact, TRAIN, FAULTS["bos_count_is_documents"][0])
    (result,) = [result for result in check(broken) if not result.passed]
    first = pq.read_table(broken.file(TRAIN))[c.DOC_ID][0].as_py()
    assert result.found == f"1 rows break the rule, first {first}"


def test_output_made_from_another_input_is_a_gap(artifact: Artifact) -> None:
    shutil.rmtree(artifact.root / jsonl_path(DATASET, REPO))
    publish_jsonl(artifact.root, DOCUMENTS[:2])
    with pytest.raises(LineageGap, match="rerun tokenized_parquet"):
        check(artifact)
