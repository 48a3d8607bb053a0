"""Tests of names and schemas: what the seeds fix, and that the columns of two stages tell the same story."""

from __future__ import annotations

import pyarrow as pa
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import schemas as s
from megacpp_assets.contract.names import STRUCTURE_CATEGORIES, fixed_max_chunks
from megacpp_assets.contract.tokens.specials import BOS_ID, NEWLINE_ID, PAD_ID, SPACE_ID, SPECIAL_NAMES
from tests.contract.blank import blank_record

_PLACE = pa.struct([("path", pa.string()), ("first", pa.int64())])
_EACH_TYPE = pa.schema(
    [("a", pa.int32()), ("b", pa.float32()), ("c", pa.bool_()), ("d", pa.list_(pa.uint8())), ("e", _PLACE)]
)


@pytest.mark.parametrize("schema", [s.SEMANTIC, s.ENRICHED, _EACH_TYPE], ids=["semantic", "enriched", "each type"])
def test_a_blank_record_has_a_value_of_its_type_in_each_column(schema: pa.Schema) -> None:
    table = pa.Table.from_pylist([blank_record(schema)], schema=schema)
    assert table.num_rows == 1 and not any(column.null_count for column in table.columns)


def test_the_seven_required_columns_are_there_in_order() -> None:
    assert c.PACKED_ROWS_PACKER_REQUIRED_COLUMNS == (
        "pack_id", "input_ids", "target_ids", "loss_mask", "doc_ids", "valid_token_count", "num_docs",
    )  # fmt: skip
    assert s.PACKED.names[:7] == list(c.PACKED_ROWS_PACKER_REQUIRED_COLUMNS)


def test_only_true_sentinels_are_filled_with_minus_one() -> None:
    minus_one = {name for name, fill in c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES.items() if fill == -1}
    assert minus_one == {"token_ast_depth", "token_sibling_index", "token_ast_node_type", "hunk_id_per_token"}
    assert set(c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES.values()) == {0, -1}


def test_every_character_column_has_a_token_column_of_its_type() -> None:
    assert tuple(s.CHAR_TYPES) == c.CHAR_COLUMNS
    for name, twin in c.TOKEN_OF_CHAR.items():
        assert s.TOKENIZED.field(name).type == s.ENRICHED.field(twin).type == pa.list_(s.CHAR_TYPES[name])
    for name, twin in c.TOKEN_OF_CHANGE.items():
        assert s.TOKENIZED.field(name).type == s.ENRICHED.field(twin).type == s.PACKED.field(twin).type


def test_text_and_provenance_reach_the_enriched_stage_under_the_same_names_and_types() -> None:
    for name in (*s.HEAD_KEYS, c.TOKEN_IDS_COLUMN, c.ACTUAL_TOKEN_COUNT):
        assert s.TOKENIZED.field(name) == s.ENRICHED.field(name)
    assert set(s.JSONL_KEYS) - set(s.TOKENIZED.names) == {"token_estimate"}


def test_every_token_and_chunk_column_of_a_row_comes_from_the_enriched_stage() -> None:
    made_by_packer = {c.INPUT_IDS, c.TARGET_IDS, c.LOSS_MASK, c.DOC_IDS}
    wanted = {*c.PACKED_ROWS_TOKEN_ALIGNED_COLUMNS, *c.PACKED_ROWS_CHUNK_METADATA_COLUMNS} - made_by_packer
    assert wanted <= set(s.ENRICHED.names) & set(s.PACKED.names)


def test_the_nine_categories_and_the_pinned_ids_are_those_of_the_seeds() -> None:
    assert STRUCTURE_CATEGORIES == (
        "other", "preamble", "func_sig", "func_body", "class_decl", "class_member", "comment", "typedef", "namespace",
    )  # fmt: skip
    assert (PAD_ID, BOS_ID, SPACE_ID, NEWLINE_ID) == (0, 2, 46, 47)
    assert SPECIAL_NAMES.index("FIM_INSTRUCTION") == 45 and SPECIAL_NAMES[BOS_ID] == "BOS"


@pytest.mark.parametrize(
    ("row_tokens", "chunks"), [(128, 128), (4096, 128), (8192, 256), (16_384, 512), (65_536, 2048)]
)
def test_the_chunk_cap_is_a_thirty_second_of_the_row_and_at_least_128(row_tokens: int, chunks: int) -> None:
    assert fixed_max_chunks(row_tokens) == chunks


def test_shard_names_sort_as_their_numbers() -> None:
    names = [c.parquet_shard(index) for index in (0, 2, 10, 12_345)]
    assert names == sorted(names) and names[0] == "shard_00000.parquet"
    assert c.jsonl_shard(3) == "shard_00003.jsonl.zst"
