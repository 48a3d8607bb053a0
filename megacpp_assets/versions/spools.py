"""Collects documents of several sets. Their lines are in temporary files until they are written as shards."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet
from megacpp_assets.storage.jsonl import write_lines
from megacpp_assets.storage.publish import Publication
from megacpp_assets.versions.judge import ANSWER, DENIED_SYMBOL, DROPPED, HELD_COPY, SECRET

SHARD_DOCUMENTS: Final = 5000
_KEYS: Final = {
    ANSWER: "curation.benchmark_action",
    DENIED_SYMBOL: "history.denied_symbols",
    DROPPED: "the rules of [curation] that drop files",
    HELD_COPY: "[holdout]",
    SECRET: "curation.secrets",
}
"""Rule that leaves out a change -> what of the recipe decides it."""


@dataclass(frozen=True, slots=True)
class Spools:
    """An open file and the counts of each set."""

    _files: Mapping[str, IO[bytes]]
    _tallies: Mapping[str, Counter[str]]

    def emit(self, documents: str, line: bytes) -> None:
        """Add a document, a JSON line, to the set `documents`."""
        self._files[documents].write(line)
        self._tallies[documents]["documents"] += 1
        self._tallies[documents]["json_bytes"] += len(line)

    def write(
        self, publication: Publication, left_out: Mapping[str, Counter[str]]
    ) -> dict[DocumentSet, dict[str, Any]]:
        """Write the shards of every set; return the statistics of each. `left_out` has its counts by rule.

        A set without a document has no shard.
        """
        stats: dict[DocumentSet, dict[str, Any]] = {}
        for name, tally in self._tallies.items():
            shards = _write(publication, name, self._files[name])
            counts = {each: tally[each] for each in ("documents", "json_bytes")}
            stats[name] = {**counts, "shards": shards, "left_out": dict(sorted(left_out[name].items()))}
        return stats


@contextmanager
def spools(names: Sequence[str]) -> Iterator[Spools]:
    """Yield spools for the document sets `names`."""
    with ExitStack() as stack:
        files = {name: stack.enter_context(tempfile.TemporaryFile()) for name in names}
        yield Spools(files, {name: Counter() for name in names})


def _write(publication: Publication, name: str, spool: IO[bytes]) -> int:
    """Write the lines of `spool` as shards of the set `name`; return the number of shards."""
    spool.seek(0)
    shards = 0
    while lines := list(islice(spool, SHARD_DOCUMENTS)):
        with publication.file(c.of_budget(name, c.jsonl_shard(shards))) as pending:
            write_lines(pending.path, lines)
            pending.rows = len(lines)
        shards += 1
    return shards


def rules_and_keys(left_out: Mapping[str, int]) -> str:
    """Return the counts by rule, each with what of the recipe decides the rule if it can be loosened."""
    keys = {rule: f" ({_KEYS[rule]})" for rule in left_out if rule in _KEYS}
    return ", ".join(f"{rule} {count}{keys.get(rule, '')}" for rule, count in sorted(left_out.items()))
