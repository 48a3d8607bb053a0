from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.schemas import CHAR_TYPES, JSONL_KEYS
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import Line, read_records, read_texts, write_lines
from megacpp_assets.storage.publish import Publication, Target, publish
from tests.storage.records import read_shard


def _record(text: str) -> dict[str, Any]:
    return {key: (text if key == "text" else None) for key in JSONL_KEYS}


def _shard(path: Path, *records: dict[str, Any]) -> Path:
    write_lines(path, (orjson.dumps(record) + b"\n" for record in records))
    return path


def test_records_come_back_in_line_order(tmp_path: Path) -> None:
    shard = _shard(tmp_path / "s.jsonl.zst", _record("first"), _record("second\u2028line"))
    assert [record["text"] for record in read_shard(shard, "s")] == ["first", "second\u2028line"]


def test_the_head_of_a_record_has_all_keys_before_the_character_columns(tmp_path: Path) -> None:
    before = JSONL_KEYS[: JSONL_KEYS.index(next(iter(CHAR_TYPES)))]
    head, rest = Line(orjson.dumps(_record("int x;")), "s").head()
    assert tuple(head) == before and not any(f'"{key}":'.encode() in rest for key in before)


def test_a_record_with_a_missing_key_is_rejected_by_line(tmp_path: Path) -> None:
    broken = _record("x")
    del broken["call_edges"]
    shard = _shard(tmp_path / "s.jsonl.zst", _record("good"), broken)
    with pytest.raises(SchemaViolation, match=r"line 2.*call_edges"):
        list(read_shard(shard, "s"))


def test_a_line_that_is_no_json_object_is_rejected(tmp_path: Path) -> None:
    shard = tmp_path / "s.jsonl.zst"
    write_lines(shard, [b"{not json}\n"])
    with pytest.raises(SchemaViolation, match="line 1"):
        list(read_shard(shard, "s"))


def test_bytes_that_are_no_zstd_stream_are_rejected(tmp_path: Path) -> None:
    shard = tmp_path / "s.jsonl.zst"
    shard.write_bytes(b"not zstd at all")
    with pytest.raises(SchemaViolation, match="zstd"):
        list(read_shard(shard, "s"))


ROWS = [_record("first"), _record("second" * 50), _record("é" * 9)]


def whole_frames(data: bytes) -> dict[str, bytes]:
    """What is no shard although zstd has no complaint about it, or none that it makes unasked."""
    plain = zstandard.ZstdDecompressor().decompress(data)
    sized, checked = zstandard.ZstdCompressor(), zstandard.ZstdCompressor(write_checksum=True, write_content_size=False)
    return {
        "no bytes": b"",
        "a header alone": data[: zstandard.frame_header_size(data)],
        "no content": zstandard.ZstdCompressor(write_checksum=True).compress(b""),
        "twice": data * 2,
        "another frame behind": data + zstandard.ZstdCompressor(write_checksum=True).compress(plain[:40]),
        "a skippable frame behind": data + b"\x50\x2a\x4d\x18\x04\0\0\0skip",
        "zeros behind": data + bytes(4),
        "no checksum": sized.compress(plain),
        "no size": checked.compress(plain),
        "without its checksum's bytes": data[:-4],
    }


@pytest.mark.parametrize("kind", sorted(whole_frames(zstandard.ZstdCompressor(write_checksum=True).compress(b"x"))))
def test_anything_but_one_frame_with_size_and_checksum_is_rejected(tmp_path: Path, kind: str) -> None:
    shard = _shard(tmp_path / "s.jsonl.zst", *ROWS)
    shard.write_bytes(whole_frames(shard.read_bytes())[kind])
    with pytest.raises(
        SchemaViolation, match=r"s/s\.jsonl\.zst; expected one whole zstd frame; found .*; what to do: rerun"
    ):
        list(read_shard(shard, "s"))


def test_no_flipped_bit_and_no_cut_reads_as_other_records(tmp_path: Path) -> None:
    shard = _shard(tmp_path / "s.jsonl.zst", *ROWS)
    data = shard.read_bytes()
    flipped = (
        data[: bit >> 3] + bytes([data[bit >> 3] ^ 1 << (bit & 7)]) + data[(bit >> 3) + 1 :]
        for bit in range(len(data) * 8)
    )
    refused = 0
    for mutated in (*flipped, *(data[:end] for end in range(len(data)))):
        shard.write_bytes(mutated)
        try:
            assert list(read_shard(shard, "s")) == ROWS
        except SchemaViolation:
            refused += 1
    assert refused > 8 * len(data)


@pytest.mark.parametrize("lengths", [[1], [40_000], [3, 5_000_000, 7]])
def test_lines_of_any_length_come_back(tmp_path: Path, lengths: list[int]) -> None:
    records = [_record("".join(chr(97 + (index * 7919) % 26) for index in range(length))) for length in lengths]
    assert list(read_shard(_shard(tmp_path / "s.jsonl.zst", *records), "s")) == records


def _columns(values: Any) -> dict[str, Any]:
    return {"text": "x" * len(values)} | dict.fromkeys(CHAR_TYPES, values)


@given(st.lists(st.integers(0, 255)))
def test_character_columns_are_arrays_of_their_types(
    tmp_path_factory: pytest.TempPathFactory, values: list[int]
) -> None:
    shard = _shard(
        tmp_path_factory.mktemp("shard") / "s.jsonl.zst", _record("") | _columns(values) | {"call_edges": [1]}
    )
    (record,) = read_shard(shard, "s")
    assert set(record) == set(JSONL_KEYS) and record["call_edges"] == [1]
    for name, kind in CHAR_TYPES.items():
        assert record[name].dtype == kind.to_pandas_dtype() and record[name].tolist() == values


@pytest.mark.parametrize(
    "values", ["[256]", "[1,-1]", "[1.5]", "[1,]", "[01]", "[", "[1", "7", "[true]", "[4294967296]"]
)
def test_a_column_of_another_type_is_read_as_a_list_or_rejected(tmp_path: Path, values: str) -> None:
    line = orjson.dumps(_record("x") | _columns([7])).replace(b"[7]", values.encode(), 1)
    shard = tmp_path / "s.jsonl.zst"
    write_lines(shard, [line + b"\n"])
    try:
        whole = orjson.loads(line)
    except orjson.JSONDecodeError:
        with pytest.raises(SchemaViolation, match="line 1"):
            list(read_shard(shard, "s"))
    else:
        assert list(read_shard(shard, "s")) == [whole]


def _artifact(root: Path, *lines: bytes) -> Artifact:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        with publication.file("4096/shard_00000.jsonl.zst") as pending:
            write_lines(pending.path, (line + b"\n" for line in lines))
        return {}

    return publish(Target(root, "jsonl/set/fmt@1", "semantic_jsonl", "fmt@1", "1", {"budgets": [4096]}), produce)


@pytest.mark.parametrize(
    "text",
    ["", "int x;", 'quoted ,"structure_ids":[1] key', "\\", '\\","structure_ids":', "\u2028\x00}é名🙂", "}", '"'],
)
@pytest.mark.parametrize("backwards", [False, True])
def test_texts_are_read_from_any_record_in_any_order_of_keys(tmp_path: Path, text: str, backwards: bool) -> None:
    record = _record(text) | {"doc_id": "d", "structure_ids": [0] * len(text)}
    line = orjson.dumps(dict(reversed(record.items())) if backwards else record)
    artifact = _artifact(tmp_path, line, line)
    assert list(read_texts(artifact, DOCUMENT_TOKENS)) == [
        (found["doc_id"], found["text"]) for found in read_records(artifact, DOCUMENT_TOKENS)
    ]
    assert list(read_texts(artifact, DOCUMENT_TOKENS)) == [("d", text)] * 2


@pytest.mark.parametrize("line", [b"{not json}", b"[]", b"null", b"{}", b'{"doc_id": "d"}'])
def test_a_line_that_is_no_record_has_no_text(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(SchemaViolation, match="line 1"):
        list(read_texts(_artifact(tmp_path, line), DOCUMENT_TOKENS))
