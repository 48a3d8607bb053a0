from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import JSONL_KEYS
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import read_records, read_shard, read_texts
from megacpp_assets.storage.publish import Publication, Target, publish


def _record(text: str) -> dict[str, Any]:
    return {key: (text if key == "text" else None) for key in JSONL_KEYS}


def _shard(path: Path, *records: dict[str, Any]) -> Path:
    path.write_bytes(zstandard.compress(b"".join(orjson.dumps(record) + b"\n" for record in records)))
    return path


def test_records_come_back_in_line_order(tmp_path: Path) -> None:
    shard = _shard(tmp_path / "s.jsonl.zst", _record("first"), _record("second\u2028line"))
    assert [record["text"] for record in read_shard(shard, "s")] == ["first", "second\u2028line"]


def test_a_record_with_a_missing_key_is_refused_by_line(tmp_path: Path) -> None:
    broken = _record("x")
    del broken["call_edges"]
    shard = _shard(tmp_path / "s.jsonl.zst", _record("good"), broken)
    with pytest.raises(SchemaViolation, match=r"line 2.*call_edges"):
        list(read_shard(shard, "s"))


def test_a_line_that_is_no_json_object_is_refused(tmp_path: Path) -> None:
    shard = tmp_path / "s.jsonl.zst"
    shard.write_bytes(zstandard.compress(b"{not json}\n"))
    with pytest.raises(SchemaViolation, match="line 1"):
        list(read_shard(shard, "s"))


def test_bytes_that_are_no_zstd_stream_are_refused(tmp_path: Path) -> None:
    shard = tmp_path / "s.jsonl.zst"
    shard.write_bytes(b"not zstd at all")
    with pytest.raises(SchemaViolation, match="zstd"):
        list(read_shard(shard, "s"))


def _artifact(root: Path, *lines: bytes) -> Artifact:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        publication.write("shard_00000.jsonl.zst", zstandard.compress(b"".join(line + b"\n" for line in lines)))
        return {}

    return publish(Target(root, "jsonl/set/fmt@1", "semantic_jsonl", "fmt@1", "1", {}), produce)


@pytest.mark.parametrize(
    "text",
    ["", "int x;", 'quoted ,"structure_ids":[1] key', "\\", '\\","structure_ids":', "\u2028\x00}é名🙂", "}", '"'],
)
@pytest.mark.parametrize("backwards", [False, True])
def test_texts_are_those_of_the_records_whatever_they_hold_and_in_whatever_order_keys_come(
    tmp_path: Path, text: str, backwards: bool
) -> None:
    record = _record(text) | {"doc_id": "d", "structure_ids": [0] * len(text)}
    line = orjson.dumps(dict(reversed(record.items())) if backwards else record)
    artifact = _artifact(tmp_path, line, line)
    assert list(read_texts(artifact)) == [(found["doc_id"], found["text"]) for found in read_records(artifact)]
    assert list(read_texts(artifact)) == [("d", text)] * 2


@pytest.mark.parametrize("line", [b"{not json}", b"[]", b"null", b"{}", b'{"doc_id": "d"}'])
def test_a_line_that_is_no_record_has_no_text(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(SchemaViolation, match="line 1"):
        list(read_texts(_artifact(tmp_path, line)))
