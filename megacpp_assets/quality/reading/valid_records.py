"""Records that an earlier check of the same repository found sound, by all that judging them reads.

Most records of one reference are those of the one before, but for its name and commit. One entry a repository, of what
was checked last, found by hashes of records and of the code that judges; removing it costs only a reading.
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
from megacpp_assets.storage.layout import checked_cache_path
from megacpp_assets.storage.locks import LOCKS_DIRECTORY

OF_REFERENCE: Final = (c.REF, c.COMMIT)
"""What every record of a reference shares, and no other reference has; it is judged each time."""
_LIBRARIES: Final = ("numpy", "orjson")
_CODE: Final = "megacpp_assets.quality.semantic"
_SCHEMA: Final = pa.schema(
    [("key", pa.binary(32)), ("roots", pa.list_(pa.binary(32))), ("symbols", pa.list_(pa.int64()))]
)


class Found(NamedTuple):
    """What a sound record tells beside its head: hashes of the texts of its roots, ids of symbols in its columns."""

    roots: Sequence[bytes]
    symbols: NDArray[np.int64]


class KnownRecords:
    """What is known of the records of the repository of `artifact`, and what is found of them now."""

    def __init__(self, artifact: Artifact) -> None:
        config = artifact.manifest.config
        self._store = Cache(artifact.root / checked_cache_path())
        # Only a data root has a cache: beside a folder that was copied out of one, nothing is written.
        self._writes = (artifact.root / LOCKS_DIRECTORY).is_dir()
        self._name = hashlib.sha256(f"{_SCHEMA} {config['dataset']} {config['repo']}".encode()).hexdigest()
        entry = self._store.peek(self._name)
        self._known = pa.ipc.open_stream(entry).read_all().combine_chunks() if entry else _SCHEMA.empty_table()
        self._places = {key: place for place, key in enumerate(self._known["key"].to_pylist())}
        self._fresh: dict[bytes, Found] = {}
        self._used: dict[int, None] = {}

    def find(self, key: bytes) -> Found | None:
        """What the record with `key` tells, if it is known to be sound."""
        if key in self._fresh:
            return self._fresh[key]
        place = self._places.get(key)
        if place is None:
            return None
        self._used[place] = None
        return Found(self._known["roots"][place].as_py(), self._known["symbols"][place].values.to_numpy())

    def keep(self, key: bytes, found: Found) -> None:
        """Remember a sound record."""
        self._fresh[key] = found

    def write(self) -> None:
        """Keep what was asked for or found now, in place of what was known."""
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
        # Nothing is lost with it but time, and a data root that cannot be written may still be looked at.
        with suppress(OSError):
            self._store.put(self._name, sink.getvalue().to_pybytes())


def key_of(head: Mapping[str, Any], behind: bytes, beside: Any) -> bytes:
    """Identity of a record by what stands in it, but for `OF_REFERENCE`, and by what is read `beside` it."""
    told = {name: value for name, value in head.items() if name not in OF_REFERENCE}
    digest = hashlib.sha256(_judges())
    digest.update(orjson.dumps([told, beside]) + b"\n")
    digest.update(behind)
    return digest.digest()


def equals_known_record(head: Mapping[str, Any], behind: bytes, record: Mapping[str, Any]) -> bool:
    """Whether `record` says what its `head` does, and would with another reference: no key comes twice."""
    again = any(f'"{name}":'.encode() in behind for name in OF_REFERENCE)
    return not again and all(record[name] == value for name, value in head.items())


@cache
def _judges() -> bytes:
    facts = {
        "code": code_identity(_CODE),
        "python": sys.version,
        "platforms": repr(platforms()),
        **{library: version(library) for library in _LIBRARIES},
    }
    return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)
