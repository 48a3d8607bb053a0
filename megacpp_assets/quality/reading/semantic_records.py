"""A semantic artifact as its checks read it: one pass over the records, and its tables of files and symbols."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE, SYNTHETIC_ROLE, VALID_SPLIT
from megacpp_assets.quality.reading.bodies import lost_bodies
from megacpp_assets.quality.reading.sides import Sides
from megacpp_assets.quality.reading.symbols import Ranges, lost_definitions, nameless
from megacpp_assets.semantic.documents.symbols import FILES_FILE, SKIPPED_FILE, SYMBOLS_FILE
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of
from megacpp_assets.storage.git_objects import BlobReader, blob_reader, source_files
from megacpp_assets.storage.jsonl import read_records
from megacpp_assets.storage.parquet import read_table

_SYMBOL_COLUMNS: Final = (c.SYMBOL_IDS, c.CALL_TARGETS, c.TYPE_REFS)

_NO_ROLE: Final = -1
ROOT_BYTES: Final = 200
"""A shorter text may well stand twice within roots: `#define USES_THREADS 0`."""

Record = dict[str, Any]
Rule = Callable[[Record, "Scan"], bool]


@dataclass(slots=True)
class Told:
    """What the records of one budget tell: how many, ids, root texts by hash, ranges of files that stand in them."""

    documents: int = 0
    ids: Counter[str] = field(default_factory=Counter)
    root_texts: Counter[bytes] = field(default_factory=Counter)
    placed: dict[str, Ranges] = field(default_factory=lambda: defaultdict(list))


class Scan:
    """What one pass over the records finds: those that break a rule, and what rules over all of them need."""

    def __init__(self, raw: Artifact, blobs: BlobReader, rules: Sequence[Rule], standards: Mapping[str, str]) -> None:
        config = raw.manifest.config
        self.pinned = (config["name"], config["ref"], config["commit"])
        self.standards = standards
        self._rules = rules
        self._blobs = blobs
        self._blob_of = {file.path: file.blob for file in source_files(raw)}
        self._data: dict[str, bytes] = {}
        self.broken: Counter[Rule] = Counter()
        self.first: dict[Rule, str] = {}
        self.told: dict[int, Told] = {}
        self.symbols: set[int] = set()
        self._held: list[Record] = []
        self._trained: list[str] = []

    @property
    def documents(self) -> int:
        """Records of all budgets."""
        return sum(told.documents for told in self.told.values())

    def read(self, artifact: Artifact, budget: int) -> None:
        """Judge every record of `budget`."""
        told = self.told[budget] = Told()
        for record in read_records(artifact, budget):
            self._add(record | {name: np.asarray(record[name]) for name in c.CHAR_COLUMNS}, told)

    def _add(self, record: Record, told: Told) -> None:
        told.documents += 1
        told.ids[record[c.DOC_ID]] += 1
        if record[c.SPLIT] == VALID_SPLIT:
            self._held.append({name: record[name] for name in (c.TEXT, c.CONSTITUENTS)})
        else:
            self._trained.append(record[c.TEXT])
        for part in record[c.CONSTITUENTS]:
            place = part["byte_start"], part["byte_end"]
            told.placed[part["filepath"]].append(place)
            if record[c.ROLES][part["char_start"]] == ROOT_ROLE and place[1] - place[0] >= ROOT_BYTES:
                text = self.data(part["filepath"])[slice(*place)]
                told.root_texts[hashlib.sha256(text).digest()] += 1
        for name in _SYMBOL_COLUMNS:
            self.symbols.update(_distinct(record[name]))
        for rule in self._rules:
            if not rule(record, self):
                self.broken[rule] += 1
                self.first.setdefault(rule, f"{record[c.DOC_ID]} ({record[c.FILEPATH]})")

    def leaked(self) -> tuple[int, int]:
        """Bytes of held-out roots that stand in training, and of all of them."""
        sides = Sides(self._held)
        for text in self._trained:
            sides.train(text)
        return sides.leaked()

    @staticmethod
    def roles_by_parts(record: Record) -> NDArray[np.int64]:
        """The role of each character if all of a constituent have that of its first, root or context, and all others
        are synthetic; one that no character has where a constituent is empty or its first has another."""
        roles = record[c.ROLES]
        expected = np.full(len(roles), SYNTHETIC_ROLE)
        for part in record[c.CONSTITUENTS]:
            start, end = part["char_start"], part["char_end"]
            first = roles[start:end][:1].tolist()
            if first not in ([ROOT_ROLE], [CONTEXT_ROLE]):
                return np.full(len(roles), _NO_ROLE)
            expected[start:end] = first[0]
        return expected

    def has(self, path: str) -> bool:
        """Whether the pinned commit has the file `path`."""
        return path in self._blob_of

    def data(self, path: str) -> bytes:
        """The bytes of a file of the pinned commit, none if it has no such file."""
        if path not in self._data:
            blob = self._blob_of.get(path)
            self._data[path] = self._blobs.read(blob) if blob else b""
        return self._data[path]


def _distinct(values: NDArray[Any]) -> list[int]:
    """The values, each at least once: one for each stretch of equal ones."""
    ends = np.flatnonzero(values[1:] != values[:-1])
    return [*values[ends].tolist(), *values[-1:].tolist()]


@dataclass
class Semantic:
    """A semantic artifact, its records scanned; `files` has a row for each file that was looked at."""

    artifact: Artifact
    scan: Scan

    @cached_property
    def files(self) -> list[Record]:
        """The table of files."""
        return list(read_table(self.artifact.file(FILES_FILE)).to_pylist())

    @cached_property
    def read_files(self) -> list[Record]:
        """Rows of the files that were not left out."""
        return [row for row in self.files if row["status"] != "skipped"]

    @cached_property
    def _symbols(self) -> pa.Table:
        return read_table(self.artifact.file(SYMBOLS_FILE))

    @cached_property
    def _accounted(self) -> dict[int, dict[str, Ranges]]:
        """By budget the ranges of each file that lie in a constituent, or are skipped with a reason."""
        ranges = {
            budget: {path: list(found) for path, found in told.placed.items()}
            for budget, told in self.scan.told.items()
        }
        for row in read_table(self.artifact.file(SKIPPED_FILE)).to_pylist():
            for found in ranges.values() if row["reason"] else ():
                found.setdefault(row["filepath"], []).append((row["byte_start"], row["byte_end"]))
        return ranges

    @cached_property
    def lost_bodies(self) -> list[str]:
        """Bodies that nothing accounts for; to be asked first while the repository can be read.

        A body without a definition is one whose head the outline took for something else.
        """
        return [
            f"a body ({row['filepath']}:{start}) at {budget} tokens"
            for budget, accounted in self._accounted.items()
            for row in self.read_files
            for start in lost_bodies(self.scan.data(row["filepath"]), accounted.get(row["filepath"], ()))
        ]

    def lost_definitions(self) -> tuple[list[str], int]:
        """Definitions and bodies that nothing accounts for in the documents of a budget, and the number of symbols."""
        lost = [
            f"{found} at {budget} tokens"
            for budget, accounted in self._accounted.items()
            for found in lost_definitions(self._symbols, accounted)
        ]
        return [*lost, *self.lost_bodies], self._symbols.num_rows

    def nameless(self) -> tuple[int, list[str]]:
        """Ids in the columns, and those that the symbol table does not name."""
        used = self.scan.symbols - {0}
        return len(used), list(nameless(self._symbols, used))


def read_semantic(artifact: Artifact, raw: Artifact, rules: Sequence[Rule]) -> Semantic:
    """Read every record of `artifact` once, judged by `rules` against the repository `raw`."""
    parsed = read_table(artifact.file(FILES_FILE)).select(["filepath", "standard"]).to_pylist()
    with blob_reader(raw) as blobs:
        scan = Scan(raw, blobs, rules, {row["filepath"]: row["standard"] for row in parsed})
        for budget in budgets_of(artifact):
            scan.read(artifact, budget)
        semantic = Semantic(artifact, scan)
        _ = semantic.lost_bodies
    return semantic
