from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import JSONL_KEYS
from megacpp_assets.storage.jsonl import read_shard


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
