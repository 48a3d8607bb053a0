"""Reading semantic JSONL: the zstd shards of a stage 2 artifact become records, in shard and line order."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import JSONL_KEYS
from megacpp_assets.storage.artifact import Artifact

SHARD_SUFFIX = ".jsonl.zst"
_KEYS = frozenset(JSONL_KEYS)
_BEHIND_TEXT = f',"{JSONL_KEYS[JSONL_KEYS.index(c.TEXT) + 1]}":'.encode()
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
    for line, place in _lines(shard, where):
        yield _record(line, place)


def read_texts(artifact: Artifact) -> Iterator[tuple[str, str]]:
    """(document id, text) of every record, in order, at a tenth of the cost: the arrays behind the text are not parsed.

    Raises `SchemaViolation` for a line that is no record.
    """
    for shard in jsonl_shards(artifact):
        for line, place in _lines(shard, f"{artifact.path}/{shard.name}"):
            facts = _head(line) or _record(line, place)
            yield facts[c.DOC_ID], facts[c.TEXT]


def _head(line: bytes) -> dict[str, Any]:
    """The keys up to the text; empty where the keys come in another order, or it is no record."""
    # Within a JSON string a quote is escaped, so these bytes can only be the key itself.
    head = line.partition(_BEHIND_TEXT)[0]
    try:
        facts: dict[str, Any] = orjson.loads(head + b"}")
    except orjson.JSONDecodeError:
        return {}
    return facts if facts.keys() >= {c.DOC_ID, c.TEXT} else {}


def _lines(shard: Path, where: str) -> Iterator[tuple[bytes, str]]:
    """Lines of a shard, each with its place for errors."""
    with shard.open("rb") as file:
        stream = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file), _BUFFER)
        try:
            for number, line in enumerate(stream, start=1):
                yield line, f"{where} line {number}"
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
