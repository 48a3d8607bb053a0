"""Documents as JSONL records in zstd shards: fixed keys in a fixed order, one thread, equal bytes for equal work."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.schemas import JSONL_KEYS
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.documents.text.platforms import platform_ids
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.labels.char_store import CharStore
from megacpp_assets.storage.jsonl import write_lines
from megacpp_assets.storage.publish import Publication

SHARD_DOCUMENTS = 5000


@dataclass(frozen=True, slots=True)
class Origin:
    """What every record of a repository shares."""

    repo: RepoRef
    commit: str
    license: str


def record(
    document: Document, repository: Repository, store: CharStore, origin: Origin, chars_per_token: float
) -> dict[str, Any]:
    """Return the JSONL record of a document; keys and their order are `JSONL_KEYS`, CHAR_COLUMNS are JSON already."""
    facts = repository.files[document.file]
    identity = "\0".join((origin.repo.name, facts.source.path, document.root.name, document.text))
    values: dict[str, Any] = {
        c.DOC_ID: hashlib.sha256(identity.encode()).hexdigest()[:32],
        c.REPO: origin.repo.name,
        c.REF: origin.repo.ref,
        c.COMMIT: origin.commit,
        c.FILEPATH: facts.source.path,
        c.BYTE_START: document.byte_start,
        c.BYTE_END: document.byte_end,
        c.LICENSE: facts.file.license or origin.license,
        c.SPLIT: VALID_SPLIT if document.validates else TRAIN_SPLIT,
        c.CONSTITUENTS: document.constituents,
        c.LANGUAGE: facts.file.language,
        c.PLATFORM_IDS: platform_ids(
            document.text, facts.parsed.standard, (part.filepath for part in document.constituents)
        ),
        c.TEXT: document.text,
        c.CHUNK_BOUNDARIES: document.boundaries,
        c.CALL_EDGES: [
            {"caller_idx": caller, "callee_idx": callee, "confidence": sure}
            for caller, callee, sure in document.call_edges()
        ],
        c.TYPE_EDGES: [
            {"type_idx": type_, "user_idx": user, "confidence": sure} for type_, user, sure in document.type_edges()
        ],
        c.TOKEN_ESTIMATE: int(len(document.text) / chars_per_token),
    }
    values |= dict(zip(c.PAINTED_COLUMNS, map(orjson.Fragment, document.arrays(store)), strict=True))
    values[c.ROLES] = orjson.Fragment(orjson.dumps(document.roles, option=orjson.OPT_SERIALIZE_NUMPY))
    return {key: values[key] for key in JSONL_KEYS}


def write_shards(publication: Publication, records: Iterable[dict[str, Any]], budget: int) -> int:
    """Write `records` as shards of SHARD_DOCUMENTS of `budget`; return how many there are. No record, no shard."""
    stream = iter(records)
    shards = 0
    while batch := _Batch(islice(stream, SHARD_DOCUMENTS)):
        with publication.file(c.of_budget(budget, c.jsonl_shard(shards))) as pending:
            write_lines(pending.path, batch)
            pending.rows = batch.written
        shards += 1
    return shards


class _Batch:
    """Lines of one shard; true if there is at least one."""

    def __init__(self, records: Iterator[dict[str, Any]]) -> None:
        self._records = records
        self._first = next(records, None)
        self.written = 0

    def __bool__(self) -> bool:
        return self._first is not None

    def __iter__(self) -> Iterator[bytes]:
        assert self._first is not None
        yield self._line(self._first)
        for values in self._records:
            yield self._line(values)

    def _line(self, values: dict[str, Any]) -> bytes:
        self.written += 1
        return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)
