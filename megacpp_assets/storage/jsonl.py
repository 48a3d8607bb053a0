"""Reading semantic JSONL: the zstd shards of a stage 2 artifact become records, in shard and line order."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import JSONL_KEYS
from megacpp_assets.storage.artifact import Artifact

SHARD_SUFFIX = ".jsonl.zst"
_KEYS = frozenset(JSONL_KEYS)
_BUFFER = 1 << 20


def jsonl_shards(artifact: Artifact) -> list[Path]:
    """The shards of a semantic artifact, in document order."""
    return artifact.files(SHARD_SUFFIX)


def read_records(artifact: Artifact) -> Iterator[dict[str, Any]]:
    """Every record of a semantic artifact, one at a time; keys are exactly `schemas.JSONL_KEYS`.

    Raises `SchemaViolation`, naming shard and line, for a line that is no JSON object or has other keys.
    """
    for shard in jsonl_shards(artifact):
        yield from read_shard(shard, f"{artifact.path}/{shard.name}")


def read_shard(shard: Path, where: str) -> Iterator[dict[str, Any]]:
    """As `read_records`, for one shard; `where` names it in errors."""
    with shard.open("rb") as file:
        stream = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file), _BUFFER)
        try:
            for number, line in enumerate(stream, start=1):
                yield _record(line, f"{where} line {number}")
        except zstandard.ZstdError as error:
            raise SchemaViolation(
                where, expected="a zstd stream", found=str(error), do="rerun semantic_jsonl"
            ) from None


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise SchemaViolation(where, expected="a JSON object", found=str(error)) from error
    found = record.keys() if isinstance(record, dict) else frozenset[str]()
    if found != _KEYS:
        odd = sorted(_KEYS.symmetric_difference(found))
        raise SchemaViolation(where, expected="exactly the keys of a semantic record", found=f"missing or extra: {odd}")
    return dict(record)
