"""Reads a semantic artifact for its checks: one pass over the records, and the tables of files and symbols."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet
from megacpp_assets.contract.names import LEFT_OUT, ROOT_ROLE, VALID_SPLIT
from megacpp_assets.quality.reading.leaks import Leak, LeakDetector
from megacpp_assets.quality.reading.symbols import lost_definitions, unnamed_symbols
from megacpp_assets.quality.reading.valid_records import RecordFacts, ValidRecords, is_described_by_head, record_key
from megacpp_assets.semantic.documents.lost import Ranges, lost_bodies
from megacpp_assets.semantic.documents.symbols import FILES_FILE, SKIPPED_FILE, SYMBOLS_FILE
from megacpp_assets.semantic.documents.text.constituents import Boundary, Constituent
from megacpp_assets.semantic.documents.text.rules import Shown
from megacpp_assets.semantic.tree.text import decode
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of
from megacpp_assets.storage.curated import replaced_spans
from megacpp_assets.storage.git_objects import BlobReader, blob_reader, source_files
from megacpp_assets.storage.jsonl import Line, read_lines
from megacpp_assets.storage.parquet import read_table
from megacpp_assets.versions.judge import word_of

_SYMBOL_COLUMNS: Final = (c.SYMBOL_IDS, c.CALL_TARGETS, c.TYPE_REFS)

ROOT_BYTES: Final = 200
"""Only root texts of at least this many bytes must be unique. A short text may repeat: `#define USES_THREADS 0`."""
NAMED: Final = 3
"""How many of the definitions that were left out a message names."""

Record = dict[str, Any]
Rule = Callable[[Record, "RecordScan"], bool]


class RecordRules(NamedTuple):
    """The rules for records: those that read only a record's head and the pins, and all others."""

    of_head: Sequence[Rule]
    of_all: Sequence[Rule]


@dataclass(slots=True)
class BudgetSummary:
    """A summary of the records of one budget.

    `root_texts` counts sha256 of root texts. `roots` and `root_bytes` count the roots and their bytes. `placed` has the
    byte ranges of each file that records contain.
    """

    documents: int = 0
    ids: Counter[str] = field(default_factory=Counter)
    root_texts: Counter[bytes] = field(default_factory=Counter)
    roots: int = 0
    root_bytes: int = 0
    placed: dict[str, Ranges] = field(default_factory=lambda: defaultdict(list))


class RecordScan:
    """One pass over the records: counts the broken rules, and collects what checks over all records need."""

    def __init__(
        self, raw: Artifact, blobs: BlobReader, rules: RecordRules, standards: Mapping[str, str], known: ValidRecords
    ) -> None:
        """Create a scan.

        Args:
            raw: the pinned repository.
            blobs: reads its blobs, with secrets masked.
            rules: the rules for records.
            standards: the C++ standard with which each file was parsed, by path.
            known: the cache of valid records.
        """
        config = raw.manifest.config
        self.pinned = (config["name"], config["ref"], config["commit"])
        self.standards = standards
        self._rules = rules
        self._known = known
        self._blobs = blobs
        self._blob_of = {file.path: file.blob for file in source_files(raw)}
        self._data: dict[str, bytes] = {}
        self.broken: Counter[Rule] = Counter()
        self.first: dict[Rule, str] = {}
        self.by_budget: dict[DocumentSet, BudgetSummary] = {}
        self.symbols: set[int] = set()
        self._held: list[Record] = []
        self._shown_record: Record | None = None
        self._shown = Shown("", (), (), (), np.zeros(0, dtype=np.int64))
        self._trained: list[str] = []

    @property
    def documents(self) -> int:
        """The number of records of all budgets."""
        return sum(summary.documents for summary in self.by_budget.values())

    def has_name(self, path: str, symbol: str) -> bool:
        """Return whether the file at `path` has the last part of the name `symbol` as a word."""
        return path in self._blob_of and bool(word_of(symbol).search(self._blobs.read(self._blob_of[path])))

    def read(self, artifact: Artifact, budget: DocumentSet) -> None:
        """Apply the rules to every record of `budget`."""
        summary = self.by_budget[budget] = BudgetSummary()
        for line in read_lines(artifact, budget):
            self._add(line, summary)

    def _add(self, line: Line, summary: BudgetSummary) -> None:
        """Apply the rules to the record of `line` and add it to `summary`.

        Decoding the character columns is the costly part. A record that is known to be valid needs only its head.
        """
        head, rest = line.head()
        key = record_key(head, rest, self._context(head)) if head else b""
        found = self._known.find(key) if key else None
        if found is not None:
            self._apply(head, self._rules.of_head)
        else:
            record = line.record()
            is_valid = bool(key) and is_described_by_head(head, rest, record)
            head = record | {name: np.asarray(record[name]) for name in c.CHAR_COLUMNS}
            is_valid &= self._apply(head, (*self._rules.of_head, *self._rules.of_all))
            found = self._facts(head)
            if is_valid:
                self._known.add(key, found)
        summary.documents += 1
        summary.ids[head[c.DOC_ID]] += 1
        if head[c.SPLIT] == VALID_SPLIT:
            self._held.append({name: head[name] for name in (c.TEXT, c.CONSTITUENTS)})
        else:
            self._trained.append(head[c.TEXT])
        for part in head[c.CONSTITUENTS]:
            start, end = part["byte_start"], part["byte_end"]
            summary.placed[part["filepath"]].append((start, end))
            if part["role"] == ROOT_ROLE:
                summary.roots += 1
                summary.root_bytes += end - start
        summary.root_texts.update(found.roots)
        self.symbols.update(found.symbols.tolist())

    def _context(self, head: Record) -> list[Any]:
        """Return what rules read besides the record itself: the contents of its constituents' files, and its
        standard.
        """
        files = sorted({part["filepath"] for part in head[c.CONSTITUENTS]})
        return [self.standards.get(head[c.FILEPATH], ""), [[path, *self._content(path)] for path in files]]

    def _content(self, path: str) -> list[Any]:
        """Return the identity of a file's bytes: its path's blob, and the spans of masked secrets if there are any."""
        blob = self._blob_of.get(path)
        spans = self._blobs.spans.get(blob) if blob else None
        return [blob, list(spans)] if spans else [blob]

    def _facts(self, record: Record) -> RecordFacts:
        """Return hashes of the texts of long roots, and the distinct symbol ids of `record`."""
        roots: list[bytes] = []
        for part in record[c.CONSTITUENTS]:
            place = part["byte_start"], part["byte_end"]
            if record[c.ROLES][part["char_start"]] == ROOT_ROLE and place[1] - place[0] >= ROOT_BYTES:
                text = self.data(part["filepath"])[slice(*place)]
                roots.append(hashlib.sha256(text).digest())
        symbols = sorted({each for name in _SYMBOL_COLUMNS for each in _distinct(record[name])})
        return RecordFacts(roots, np.array(symbols, dtype=np.int64))

    def _apply(self, record: Record, rules: Iterable[Rule]) -> bool:
        """Count the `rules` that `record` breaks; return whether it breaks none."""
        broken = [rule for rule in rules if not rule(record, self)]
        for rule in broken:
            self.broken[rule] += 1
            self.first.setdefault(rule, f"{record[c.DOC_ID]} ({record[c.FILEPATH]})")
        return not broken

    @property
    def characters(self) -> tuple[int, int]:
        """The characters of all training documents, and of all held-out ones."""
        return sum(map(len, self._trained)), sum(len(record[c.TEXT]) for record in self._held)

    def leaked(self) -> Leak:
        """Return the held-out roots that training documents contain."""
        leaks = LeakDetector(self._held)
        for text in self._trained:
            leaks.add_training_text(text)
        return leaks.leaked()

    def shown(self, record: Record) -> Shown:
        """Return the record in the form that the rules of `documents/text/rules.py` take.

        Several rules ask for the same record.
        """
        if self._shown_record is not record:
            self._shown_record = record
            edges = [(edge["caller_idx"], edge["callee_idx"]) for edge in record[c.CALL_EDGES]]
            edges += [(edge["user_idx"], edge["type_idx"]) for edge in record[c.TYPE_EDGES]]
            parts = [Constituent(**part) for part in record[c.CONSTITUENTS]]
            boundaries = [Boundary(**chunk) for chunk in record[c.CHUNK_BOUNDARIES]]
            self._shown = Shown(record[c.TEXT], parts, boundaries, edges, record[c.ROLES])
        return self._shown

    def has(self, path: str) -> bool:
        """Return whether the pinned commit has the file `path`."""
        return path in self._blob_of

    def data(self, path: str) -> bytes:
        """Return the bytes of a file of the pinned commit; empty if the commit lacks the file."""
        if path not in self._data:
            blob = self._blob_of.get(path)
            self._data[path] = self._blobs.read(blob) if blob else b""
        return self._data[path]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The definitions that rules left out, as rows of the skip list, and all definitions to compare with.

    `roots` and `root_bytes` are the number and bytes of all roots of the smallest budget, those left out included.
    """

    rows: Sequence[Record]
    roots: int
    root_bytes: int

    @property
    def bytes(self) -> int:
        """The bytes of the definitions that were left out."""
        return sum(row["byte_end"] - row["byte_start"] for row in self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return f"0 of {self.roots} definitions left out"
        first = [f"{row['filepath']}:{row['byte_start']} ({row['reason'].removeprefix(LEFT_OUT)})" for row in self.rows]
        count = f"{len(self.rows)} of {self.roots} definitions and {self.bytes} of {self.root_bytes} bytes left out"
        return f"{count}, first {', '.join(first[:NAMED])}"


def _distinct(values: NDArray[Any]) -> list[int]:
    """Return one value for each run of equal values. This shortens a column before its values are put into a set."""
    ends = np.flatnonzero(values[1:] != values[:-1])
    return [*values[ends].tolist(), *values[-1:].tolist()]


@dataclass
class Semantic:
    """A semantic artifact after the scan of its records, with its tables."""

    artifact: Artifact
    scan: RecordScan

    @cached_property
    def files(self) -> list[Record]:
        """The rows of the table of files, one per file of the repository."""
        return list(read_table(self.artifact.file(FILES_FILE)).to_pylist())

    @cached_property
    def read_files(self) -> list[Record]:
        """The rows of the files that were not skipped."""
        return [row for row in self.files if row["status"] != "skipped"]

    @cached_property
    def _symbols(self) -> pa.Table:
        return read_table(self.artifact.file(SYMBOLS_FILE))

    @cached_property
    def _skipped(self) -> list[Record]:
        return list(read_table(self.artifact.file(SKIPPED_FILE)).to_pylist())

    @cached_property
    def denied_but_missing(self) -> list[str]:
        """The entries of `history.denied_symbols` whose file the commit lacks, or whose name is not in the file."""
        name, entries = self.artifact.manifest.config["repo"], self.artifact.manifest.config.get("denied_symbols", ())
        return [f"{name}:{path}:{symbol}" for path, symbol in entries if not self.scan.has_name(path, symbol)]

    @cached_property
    def left_out(self) -> LeftOut:
        """The definitions that rules left out of the documents."""
        rows = [row for row in self._skipped if (row["reason"] or "").startswith(LEFT_OUT)]
        smallest = min(self.scan.by_budget.values(), key=lambda summary: summary.root_bytes)
        size = sum(row["byte_end"] - row["byte_start"] for row in rows)
        return LeftOut(rows, smallest.roots + len(rows), smallest.root_bytes + size)

    @cached_property
    def _accounted(self) -> dict[DocumentSet, dict[str, Ranges]]:
        """By budget, the byte ranges of each file that are in a document or are skipped with a reason."""
        ranges = {
            budget: {path: list(found) for path, found in summary.placed.items()}
            for budget, summary in self.scan.by_budget.items()
        }
        for row in self._skipped:
            for found in ranges.values() if row["reason"] else ():
                found.setdefault(row["filepath"], []).append((row["byte_start"], row["byte_end"]))
        return ranges

    @cached_property
    def lost_bodies(self) -> list[str]:
        """Bodies of functions and classes that are in no document and not skipped with a reason.

        The first access reads the repository's blobs, so it must happen while they can be read. A body can be lost
        although no definition is: the outline did not recognise its head.
        """
        return [
            f"a body ({row['filepath']}:{source.in_blob(start)}) at {budget} tokens"
            for row in self.read_files
            for source in [decode(row["filepath"], self.scan.data(row["filepath"]))]
            for budget, accounted in self._accounted.items()
            for start, _ in lost_bodies(source.data, source.from_blob(accounted.get(source.path, ())))
        ]

    def lost_definitions(self) -> tuple[list[str], int]:
        """Return (definitions and bodies that are in no document of a budget and not skipped, number of symbols)."""
        lost = [
            f"{found} at {budget} tokens"
            for budget, accounted in self._accounted.items()
            for found in lost_definitions(self._symbols, accounted)
        ]
        return [*lost, *self.lost_bodies], self._symbols.num_rows

    def unnamed_symbols(self) -> tuple[int, list[str]]:
        """Return (number of symbol ids in the columns, problems of the ids that the symbol table does not name)."""
        used = self.scan.symbols - {0}
        return len(used), list(unnamed_symbols(self._symbols, used))


def read_semantic(artifact: Artifact, sources: tuple[Artifact, Artifact], rules: RecordRules) -> Semantic:
    """Read every record of `artifact` once and apply `rules`.

    `sources` are its inputs (pinned_repos, curated_files); the latter says which secrets are masked.
    """
    raw, curated = sources
    known = ValidRecords(artifact)
    parsed = read_table(artifact.file(FILES_FILE)).select(["filepath", "standard"]).to_pylist()
    with blob_reader(raw, replaced_spans(curated)) as blobs:
        scan = RecordScan(raw, blobs, rules, {row["filepath"]: row["standard"] for row in parsed}, known)
        for budget in budgets_of(artifact):
            scan.read(artifact, budget)
        semantic = Semantic(artifact, scan)
        _ = semantic.lost_bodies, semantic.denied_but_missing  # computed here because they read blobs
    known.write()
    return semantic
