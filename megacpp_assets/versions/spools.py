"""Documents of several sets, written as they come: lines lie in files without a name until they become shards."""

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
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.storage.jsonl import write_lines
from megacpp_assets.storage.publish import Publication

SHARD_DOCUMENTS: Final = 5000


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
        self, publication: Publication, repo: RepoRef, left_out: Mapping[str, Counter[str]]
    ) -> dict[DocumentSet, dict[str, Any]]:
        """Write the shards of every set; the statistics of each, with `left_out`, which counts by rule.

        Raises `SpecError` with these counts where a set has no document: nothing empty is published.
        """
        told: dict[DocumentSet, dict[str, Any]] = {}
        for name, tally in self._tallies.items():
            if not tally["documents"]:
                raise _empty(repo, name, left_out[name])
        for name, tally in self._tallies.items():
            shards = _write(publication, name, self._files[name])
            told[name] = {**tally, "shards": shards, "left_out": dict(sorted(left_out[name].items()))}
        return told


@contextmanager
def spools(names: Sequence[str]) -> Iterator[Spools]:
    """Spools for the document sets `names`."""
    with ExitStack() as stack:
        files = {name: stack.enter_context(tempfile.TemporaryFile()) for name in names}
        yield Spools(files, {name: Counter() for name in names})


def _write(publication: Publication, name: str, spool: IO[bytes]) -> int:
    """Write the lines of `spool` as shards of the set `name`; how many there are."""
    spool.seek(0)
    shards = 0
    while lines := list(islice(spool, SHARD_DOCUMENTS)):
        with publication.file(c.of_budget(name, c.jsonl_shard(shards))) as pending:
            write_lines(pending.path, lines)
            pending.rows = len(lines)
        shards += 1
    return shards


def _empty(repo: RepoRef, name: str, left_out: Mapping[str, int]) -> SpecError:
    counts = ", ".join(f"{rule} {count}" for rule, count in sorted(left_out.items()))
    return SpecError(
        f"{name} documents of {repo.key}",
        expected="at least one",
        found=f"none; left out: {counts or 'nothing'}",
        do="widen [history] in the recipe, or take the version out of its phases",
    )
