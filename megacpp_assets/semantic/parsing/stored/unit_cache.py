"""Caches results of units by everything that they depend on, so that a cached result equals that of a new parse.

A look-up has two steps, because the files that a unit reads are known only after its parse. The first key is the unit's
own content, arguments and header; its value is the list of files that were read. The second key is the current contents
of these files, and which files the includes could find; its value is the result. Failures are cached too.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.lots import may_be_machine_failure
from megacpp_assets.semantic.parsing.stored import unit_entry
from megacpp_assets.semantic.parsing.worker import READS_OUTSIDE, Batch, Header, UnitResult
from megacpp_assets.semantic.tree.folder import WORK_FOLDER
from megacpp_assets.semantic.tree.tree_contents import TreeContents, header_state
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.caching.code import code_identity

_UNBUILT = b"unbuilt"


@dataclass(slots=True)
class Memory:
    """The store of results, and how many units were found in it or had to be parsed.

    `included` is how many units include each file of the tree, directly or not.
    """

    store: Cache
    reused: int = 0
    parsed: int = 0
    included: Counter[str] = field(default_factory=Counter)


class UnitCache:
    """The cached results of the units of one tree. Without a `store` nothing is cached.

    All files of the tree must exist already. A result depends on the unit's batch: on its header, and on whether it is
    an audit. `parsed` are the paths of units that were parsed in this run.
    """

    def __init__(self, store: Cache | None, plain: Batch) -> None:
        self.parsed: set[str] = set()
        self._store = store
        if store is None:
            return
        self._contents = TreeContents(Path(plain.tree))
        facts = {
            "code": code_identity("megacpp_assets.semantic.parsing.parse"),
            "compiler": dict(plain.toolchain.identity),
            "headers": header_state(plain.toolchain.header_roots, plain.toolchain.library),
            "visible": plain.toolchain.visible,
            "limits": asdict(plain.limits),
        }
        self._base = orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)

    def find(self, unit: Unit, batch: Batch) -> UnitResult | None:
        """Return the cached result of parsing `unit` in `batch`, or None if it is not cached."""
        if self._store is None:
            return None
        outcome = self._get(self._unit_key(unit, batch))
        if outcome is None and batch.header and not batch.audit:
            outcome = self._get(self._unit_key(unit, replace(batch, audit=True)))
            found = unit_entry.from_bytes(outcome) if outcome else None
            # An audit that chose the parse with the header has the same result, and counts of calls in addition.
            return found if found and found.shares else None
        return unit_entry.from_bytes(outcome) if outcome else None

    def keep(self, unit: Unit, asked: Batch, done: Batch, result: UnitResult) -> None:
        """Store the result of `unit` in the batch `asked`.

        `done` is the batch that its worker got, with a built header.

        If the machine may have caused a failure, neither that failure nor the result of a later try is stored.
        """
        self.parsed.add(unit.path)
        if self._store is None or done.unlucky or result.file.reason.startswith(READS_OUTSIDE):
            return
        reads = {unit.path, *result.reads}
        killed = asked.header is not None and done.header is None
        if result.file.status == "failed" or killed or unit.through:
            reads |= self._contents.reach({unit.path, unit.parsed})
        if done.header:
            reads |= _files_of(done.header)
        if asked.header and (done.header is None or done.header.text != asked.header.text):
            reads |= self._reach_of(asked.header)
        self._put(self._unit_key(unit, asked), reads, unit_entry.to_bytes(result))

    def cannot_build(self, batch: Batch) -> bool:
        """Return whether the cache records that the header of `batch` does not compile."""
        return self._store is not None and self._get(self._header_key(batch)) is not None

    def keep_unbuilt(self, batch: Batch, failure: str) -> None:
        """Store that the header of `batch` does not compile, or kills its worker. `failure` is the message, or ""."""
        if self._store and batch.header and not (failure and may_be_machine_failure(failure)):
            self._put(self._header_key(batch), self._reach_of(batch.header), _UNBUILT)

    def _get(self, key: str) -> bytes | None:
        assert self._store is not None
        reads = self._store.get(key)
        return self._store.get(self._outcome_key(key, orjson.loads(reads))) if reads else None

    def _put(self, key: str, reads: set[str], outcome: bytes) -> None:
        assert self._store is not None
        inside = sorted(path for path in reads if not path.startswith(("/", f"{WORK_FOLDER}/pch/")))
        both = [inside, sorted(path for path in reads if path.startswith("/"))]
        self._store.put(self._outcome_key(key, both), outcome)
        self._store.put(key, orjson.dumps(both))

    def _reach_of(self, header: Header) -> set[str]:
        return self._contents.reach(self._contents.meant(header.text.encode()))

    def _unit_key(self, unit: Unit, batch: Batch) -> str:
        content = self._contents.digest(unit.path)
        header = batch.header.text if batch.header else None
        return self._key({"unit": asdict(unit), "content": content, "header": header, "audit": batch.audit})

    def _header_key(self, batch: Batch) -> str:
        assert batch.header is not None
        return self._key({"header": batch.header.text, "arguments": batch.units[0].arguments})

    def _key(self, facts: Mapping[str, Any]) -> str:
        return hashlib.sha256(self._base + orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def _outcome_key(self, key: str, reads: Sequence[Sequence[str]]) -> str:
        inside, outside = reads
        return hashlib.sha256(f"{key} {self._contents.state(inside, outside)}".encode()).hexdigest()


def _files_of(header: Header) -> set[str]:
    return {included.decode("utf-8", "surrogateescape") for _, included in header.inclusions}
