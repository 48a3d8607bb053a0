"""Semantic JSONL as zstd shards: written line by line, and read back as records in shard and line order.

Character columns of a record are arrays. Lists of Python integers would take ten times the memory and time.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson
import zstandard

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import CHAR_TYPES, HEAD_KEYS, JSONL_KEYS
from megacpp_assets.storage._integers import integers
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import shards_of

SHARD_SUFFIX = ".jsonl.zst"
_LEVEL = 3
_KEYS = frozenset(JSONL_KEYS)
_COLUMNS = [(name, f',"{name}":'.encode(), kind.bit_width // 8) for name, kind in CHAR_TYPES.items()]
"""The character columns, which follow the head: name, key, bytes of a value."""
_AFTER_HEAD = _COLUMNS[0][1]
_BUFFER = 1 << 20
_READ = 1 << 14
"""Compressed bytes that are read at once. Memory holds their decompressed form."""


def read_records(artifact: Artifact, budget: DocumentSet) -> Iterator[dict[str, Any]]:
    """Yield every record of `budget` of a JSONL artifact, with the keys of `schemas.JSONL_KEYS`.

    Documents of commits also have `columns.CHANGES`. A character column is an array of its type, or a list if a value
    does not fit into that type. Raises `SchemaViolation`, which names shard and line, for a line that is not a JSON
    object or has other keys.
    """
    return (line.record() for line in read_lines(artifact, budget))


def json_lines(path: Path, where: str) -> Iterator[bytes]:
    """Yield the unparsed lines of a file that `write_lines` wrote. `where` names its artifact in errors."""
    return (line.data for line in _lines(path, f"{where}/{path.name}"))


class Line(NamedTuple):
    """An unparsed line of a shard, and its place for errors."""

    data: bytes
    place: str

    def record(self) -> dict[str, Any]:
        """Return the record; see `read_records`."""
        return _record(self.data, self.place)

    def head(self) -> tuple[dict[str, Any], bytes]:
        """Return the head (`schemas.HEAD_KEYS`), and the unparsed rest of the line.

        This costs a tenth of parsing everything. Both are empty if the keys have another order or the line is
        not a record.
        """
        # Within a JSON string a quote is escaped, so these bytes can only be the key itself.
        head, key, rest = self.data.partition(_AFTER_HEAD)
        try:
            facts: dict[str, Any] = orjson.loads(head + b"}")
        except orjson.JSONDecodeError:
            return {}, b""
        return (facts, key + rest) if tuple(facts) == HEAD_KEYS else ({}, b"")


def read_lines(artifact: Artifact, budget: DocumentSet) -> Iterator[Line]:
    """Yield the unparsed lines of every shard of `budget`."""
    for shard in shards_of(artifact, budget, SHARD_SUFFIX):
        yield from _lines(shard, _place(artifact, budget, shard))


def read_texts(artifact: Artifact, budget: DocumentSet) -> Iterator[tuple[str, str]]:
    """Yield (document id, text) of every record of `budget` in order, without parsing the character columns.

    Raises `SchemaViolation` for a line that is not a record.
    """
    for line in read_lines(artifact, budget):
        facts = line.head()[0] or line.record()
        yield facts[c.DOC_ID], facts[c.TEXT]


def write_lines(shard: Path, lines: Iterable[bytes]) -> None:
    """Write `lines` as one zstd frame that states its size, so that a reader can detect a truncated file.

    The size comes before the content, so the lines are first written to a temporary file, which gives their size.
    """
    with tempfile.TemporaryFile(dir=shard.parent) as counted, shard.open("wb") as file:
        counted.writelines(lines)
        size = counted.tell()
        counted.seek(0)
        zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).copy_stream(counted, file, size=size)


def _place(artifact: Artifact, budget: DocumentSet, shard: Path) -> str:
    return f"{artifact.path}/{c.of_budget(budget, shard.name)}"


def _lines(shard: Path, where: str) -> Iterator[Line]:
    with shard.open("rb") as file:
        stream = io.BufferedReader(_Frame(file, where), _BUFFER)
        for number, line in enumerate(stream, start=1):
            yield Line(line, f"{where} line {number}")


class _Frame(io.RawIOBase):
    """The content of a file that must be exactly one zstd frame with its size and checksum.

    Otherwise `SchemaViolation` is raised: at the first read for a malformed header, at the end for the other faults.
    """

    def __init__(self, file: BinaryIO, where: str) -> None:
        self._file, self._where = file, where
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._expected = -1
        self._given = 0
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def readinto(self, buffer: Any) -> int:
        """See `io.RawIOBase`."""
        while not self._left and (read := self._file.read(_READ)):
            self._left = memoryview(self._decompressed(read))
        count = min(len(self._left), len(buffer))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        self._given += count
        if not count:
            whole = self._frame.eof and self._given == self._expected > 0
            self._require(whole, "a frame that ends too early or holds nothing")
        return count

    def _decompressed(self, read: bytes) -> bytes:
        self._require(not self._frame.eof, "bytes behind the frame")
        try:
            if self._expected < 0:
                stated = zstandard.get_frame_parameters(read)
                whole = stated.has_checksum and stated.content_size != zstandard.CONTENTSIZE_UNKNOWN
                self._require(whole, "a frame that does not state its size and checksum")
                self._expected = stated.content_size
            data = self._frame.decompress(read)
        except zstandard.ZstdError as error:
            self._require(False, str(error))
            raise
        self._require(not self._frame.unused_data, "bytes behind the frame")
        return data

    def _require(self, holds: bool, found: str) -> None:
        if not holds:
            raise SchemaViolation(self._where, expected="one whole zstd frame", found=found, do="rerun semantic_jsonl")


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = _columns_apart(line) or orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise SchemaViolation(where, expected="a JSON object", found=str(error)) from error
    found = record.keys() if isinstance(record, dict) else frozenset[str]()
    if found - {c.CHANGES} != _KEYS:
        odd = sorted(_KEYS.symmetric_difference(found - {c.CHANGES}))
        raise SchemaViolation(where, expected="exactly the keys of a semantic record", found=f"missing or extra: {odd}")
    return {key: record[key] for key in (*JSONL_KEYS, c.CHANGES) if key in record}


def _columns_apart(line: bytes) -> dict[str, Any]:
    """Return the record of a line whose character columns follow its head and fit their types; else empty."""
    begin = at = line.find(_AFTER_HEAD)
    columns: dict[str, Any] = {}
    for name, key, width in _COLUMNS:
        found = integers(line, at + len(key), width) if at >= 0 and line.startswith(key, at) else None
        if found is None:
            return {}
        columns[name], at = found
    return {**orjson.loads(line[:begin] + line[at:]), **columns}
