"""A cache of records that an earlier check of the same repository found valid.

Most records of a new reference equal those of the reference before, except for its name and commit. The cache has one
entry per repository, with the records of its last check. A record's key is a hash of its content, of everything else
that the rules read, and of the code of the rules. Without the entry every record is checked again.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.platforms import platforms
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.caching.code import code_identity
from megacpp_assets.storage.root.layout import checked_cache_path
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY

REFERENCE_FIELDS: Final = (c.REF, c.COMMIT)
"""Fields that differ between references, so they are not part of a key. They are checked for every record."""
_LIBRARIES: Final = ("numpy", "orjson")
_CODE: Final = "megacpp_assets.quality.semantic"
_SCHEMA: Final = pa.schema(
    [("key", pa.binary(32)), ("roots", pa.list_(pa.binary(32))), ("symbols", pa.list_(pa.int64()))]
)


class RecordFacts(NamedTuple):
    """Facts about a valid record that its head lacks: sha256 of each long root's text, and its symbol ids."""

    roots: Sequence[bytes]
    symbols: NDArray[np.int64]


class ValidRecords:
    """The valid records of the repository of `artifact`: those of the last check, and those found valid now."""

    def __init__(self, artifact: Artifact) -> None:
        config = artifact.manifest.config
        self._store = Cache(artifact.root / checked_cache_path())
        # A copy of some folders of a data root has no folder of locks: nothing is written there.
        self._writes = (artifact.root / LOCKS_DIRECTORY).is_dir()
        self._name = hashlib.sha256(f"{_SCHEMA} {config['dataset']} {config['repo']}".encode()).hexdigest()
        entry = self._store.peek(self._name)
        self._known = pa.ipc.open_stream(entry).read_all().combine_chunks() if entry else _SCHEMA.empty_table()
        self._places = {key: place for place, key in enumerate(self._known["key"].to_pylist())}
        self._fresh: dict[bytes, RecordFacts] = {}
        self._used: dict[int, None] = {}

    def find(self, key: bytes) -> RecordFacts | None:
        """Return the facts about the record with `key` if it is known to be valid, else None."""
        if key in self._fresh:
            return self._fresh[key]
        place = self._places.get(key)
        if place is None:
            return None
        self._used[place] = None
        return RecordFacts(self._known["roots"][place].as_py(), self._known["symbols"][place].values.to_numpy())

    def add(self, key: bytes, found: RecordFacts) -> None:
        """Record that the record with `key` is valid."""
        self._fresh[key] = found

    def write(self) -> None:
        """Replace the cache entry by the records that were found or added in this check."""
        if not self._writes or not self._fresh:
            return
        fresh = {
            "key": list(self._fresh),
            "roots": [list(found.roots) for found in self._fresh.values()],
            "symbols": [found.symbols for found in self._fresh.values()],
        }
        known = self._known.take(pa.array(self._used, type=pa.int64()))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, _SCHEMA) as writer:
            writer.write_table(pa.concat_tables([known, pa.table(fresh, schema=_SCHEMA)]))
        # A lost entry costs only time, and a data root on a read-only disk can still be checked.
        with suppress(OSError):
            self._store.put(self._name, sink.getvalue().to_pybytes())


def record_key(head: Mapping[str, Any], rest: bytes, context: Any) -> bytes:
    """Return the sha256 key of a record.

    Args:
        head: the decoded fields at the start of the record's line; `REFERENCE_FIELDS` do not count.
        rest: the bytes of the line after the head.
        context: everything else that the rules read, as JSON values.
    """
    fields = {name: value for name, value in head.items() if name not in REFERENCE_FIELDS}
    digest = hashlib.sha256(_rules_identity())
    digest.update(orjson.dumps([fields, context]) + b"\n")
    digest.update(rest)
    return digest.digest()


def is_described_by_head(head: Mapping[str, Any], rest: bytes, record: Mapping[str, Any]) -> bool:
    """Return whether the decoded `record` has the values of its `head`, now and with any other reference.

    JSON allows a key twice, and the last value wins. If `rest` repeated a field of the reference, a key that ignores
    the head's value would not identify the record.
    """
    repeats_reference = any(f'"{name}":'.encode() in rest for name in REFERENCE_FIELDS)
    return not repeats_reference and all(record[name] == value for name, value in head.items())


@cache
def _rules_identity() -> bytes:
    """Return the identity of the code and libraries that decide whether a record is valid."""
    facts = {
        "code": code_identity(_CODE),
        "python": sys.version,
        "platforms": repr(platforms()),
        **{library: version(library) for library in _LIBRARIES},
    }
    return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)
