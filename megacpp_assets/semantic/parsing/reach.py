"""How far a change reached: how many units were parsed again, and which changed header most of these include."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson

from megacpp_assets.semantic.parsing.unit_cache import Memory


def reach_of(memory: Memory, repository: str, blobs: Mapping[str, str]) -> dict[str, int | str]:
    """Counts of units, and the header where one that units were parsed with changed since the reference of the
    repository that was indexed before. `blobs` are the ids of its files by path, which are remembered for the next one.
    """
    name = hashlib.sha256(f"files of {repository}".encode()).hexdigest()
    before = memory.store.get(name)
    memory.store.put(name, orjson.dumps(dict(blobs)))
    counts: dict[str, int | str] = {"units_parsed": memory.parsed, "units_reused": memory.reused}
    known = orjson.loads(before) if before else dict(blobs)
    changed = [path for path in memory.included if path in blobs and known.get(path) != blobs[path]]
    if changed:
        widest = max(changed, key=lambda path: (memory.included[path], path))
        counts |= {"changed_header": widest, "changed_header_units": memory.included[widest]}
    return counts
