"""Counts the units that were parsed again after a change, and finds the changed header that most units include."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson

from megacpp_assets.semantic.parsing.stored.unit_cache import Memory


def reach_of(memory: Memory, repository: str, blobs: Mapping[str, str]) -> dict[str, int | str]:
    """Return counts of units, and the changed header that most of them include, since the previously indexed
    reference.

    `blobs` are the ids of the repository's files by path; they are stored for the next comparison.
    """
    counts: dict[str, int | str] = {"units_parsed": memory.parsed, "units_reused": memory.reused}
    before = _before(memory, repository, dict(blobs))
    changed = [path for path in memory.included if path in blobs and before.get(path) != blobs[path]]
    if changed:
        widest = max(changed, key=lambda path: (memory.included[path], path))
        counts |= {"changed_header": widest, "changed_header_units": memory.included[widest]}
    return counts


def _before(memory: Memory, repository: str, blobs: dict[str, str]) -> dict[str, str]:
    """Return the files of the previous reference, or `blobs` if there was none.

    After an interrupted run, a reference is compared with the same previous one as in the first try.
    """
    key = hashlib.sha256(f"last two references of {repository}".encode()).hexdigest()
    kept = memory.store.get(key)
    last, before = orjson.loads(kept) if kept else (blobs, blobs)
    if last != blobs:
        before = last
    memory.store.put(key, orjson.dumps([blobs, before]))
    return dict(before)
