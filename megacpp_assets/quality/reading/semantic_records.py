"""A semantic artifact as its checks read it: one pass over the records, and its tables of files and symbols."""

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
from megacpp_assets.quality.reading.known_records import Found, KnownRecords, equals_known_record, key_of
from megacpp_assets.quality.reading.sides import Leaked, Sides
from megacpp_assets.quality.reading.symbols import lost_definitions, nameless
from megacpp_assets.semantic.documents.constituents import Boundary, Constituent
from megacpp_assets.semantic.documents.lost import Ranges, lost_bodies
from megacpp_assets.semantic.documents.rules import Shown
from megacpp_assets.semantic.documents.symbols import FILES_FILE, SKIPPED_FILE, SYMBOLS_FILE
from megacpp_assets.semantic.tree.text import decode
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of
from megacpp_assets.storage.curated import replaced_spans
from megacpp_assets.storage.git_objects import BlobReader, blob_reader, source_files
from megacpp_assets.storage.jsonl import Line, read_lines
from megacpp_assets.storage.parquet import read_table

_SYMBOL_COLUMNS: Final = (c.SYMBOL_IDS, c.CALL_TARGETS, c.TYPE_REFS)

ROOT_BYTES: Final = 200
"""A shorter text may well stand twice within roots: `#define USES_THREADS 0`."""
NAMED: Final = 3
"""So many of the definitions that were left out are named."""

Record = dict[str, Any]
Rule = Callable[[Record, "Scan"], bool]


class Rules(NamedTuple):
    """What records are judged by: rules that read no more than a record's head, and what was pinned; all others."""

    of_head: Sequence[Rule]
    of_all: Sequence[Rule]


@dataclass(slots=True)
class Told:
    """What the records of one budget tell: how many, ids, root texts by hash, roots and their bytes, and the ranges of
    files that stand in them."""

    documents: int = 0
    ids: Counter[str] = field(default_factory=Counter)
    root_texts: Counter[bytes] = field(default_factory=Counter)
    roots: int = 0
    root_bytes: int = 0
    placed: dict[str, Ranges] = field(default_factory=lambda: defaultdict(list))


class Scan:
    """What one pass over the records finds: those that break a rule, and what rules over all of them need."""

    def __init__(
        self, raw: Artifact, blobs: BlobReader, rules: Rules, standards: Mapping[str, str], known: KnownRecords
    ) -> None:
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
        self.told: dict[DocumentSet, Told] = {}
        self.symbols: set[int] = set()
        self._held: list[Record] = []
        self._judged: Record | None = None
        self._shown = Shown("", (), (), (), np.zeros(0, dtype=np.int64))
        self._trained: list[str] = []

    @property
    def documents(self) -> int:
        """Records of all budgets."""
        return sum(told.documents for told in self.told.values())

    def read(self, artifact: Artifact, budget: DocumentSet) -> None:
        """Judge every record of `budget`."""
        told = self.told[budget] = Told()
        for line in read_lines(artifact, budget):
            self._add(line, told)

    def _add(self, line: Line, told: Told) -> None:
        head, behind = line.head()
        key = key_of(head, behind, self._beside(head)) if head else b""
        found = self._known.find(key) if key else None
        if found is not None:
            self._judge(head, self._rules.of_head)
        else:
            record = line.record()
            sound = bool(key) and equals_known_record(head, behind, record)
            head = record | {name: np.asarray(record[name]) for name in c.CHAR_COLUMNS}
            sound &= self._judge(head, (*self._rules.of_head, *self._rules.of_all))
            found = self._found(head)
            if sound:
                self._known.keep(key, found)
        told.documents += 1
        told.ids[head[c.DOC_ID]] += 1
        if head[c.SPLIT] == VALID_SPLIT:
            self._held.append({name: head[name] for name in (c.TEXT, c.CONSTITUENTS)})
        else:
            self._trained.append(head[c.TEXT])
        for part in head[c.CONSTITUENTS]:
            start, end = part["byte_start"], part["byte_end"]
            told.placed[part["filepath"]].append((start, end))
            if part["role"] == ROOT_ROLE:
                told.roots += 1
                told.root_bytes += end - start
        told.root_texts.update(found.roots)
        self.symbols.update(found.symbols.tolist())

    def _beside(self, head: Record) -> list[Any]:
        """What judging a record reads beside it: the files that it has slices of, and the standard of its own."""
        files = sorted({part["filepath"] for part in head[c.CONSTITUENTS]})
        return [self.standards.get(head[c.FILEPATH], ""), [[path, *self._content(path)] for path in files]]

    def _content(self, path: str) -> list[Any]:
        """What decides the bytes of a file: its blob, and the ranges that are replaced in it, if any."""
        blob = self._blob_of.get(path)
        spans = self._blobs.spans.get(blob) if blob else None
        return [blob, list(spans)] if spans else [blob]

    def _found(self, record: Record) -> Found:
        roots: list[bytes] = []
        for part in record[c.CONSTITUENTS]:
            place = part["byte_start"], part["byte_end"]
            if record[c.ROLES][part["char_start"]] == ROOT_ROLE and place[1] - place[0] >= ROOT_BYTES:
                text = self.data(part["filepath"])[slice(*place)]
                roots.append(hashlib.sha256(text).digest())
        symbols = sorted({each for name in _SYMBOL_COLUMNS for each in _distinct(record[name])})
        return Found(roots, np.array(symbols, dtype=np.int64))

    def _judge(self, record: Record, rules: Iterable[Rule]) -> bool:
        """Whether `record` holds all of `rules`; what it breaks is noted."""
        broken = [rule for rule in rules if not rule(record, self)]
        for rule in broken:
            self.broken[rule] += 1
            self.first.setdefault(rule, f"{record[c.DOC_ID]} ({record[c.FILEPATH]})")
        return not broken

    def leaked(self) -> Leaked:
        """What of the held-out roots stands in training."""
        sides = Sides(self._held)
        for text in self._trained:
            sides.train(text)
        return sides.leaked()

    def shown(self, record: Record) -> Shown:
        """The record as the rules of documents see it."""
        if self._judged is not record:
            self._judged = record
            edges = [(edge["caller_idx"], edge["callee_idx"]) for edge in record[c.CALL_EDGES]]
            edges += [(edge["user_idx"], edge["type_idx"]) for edge in record[c.TYPE_EDGES]]
            parts = [Constituent(**part) for part in record[c.CONSTITUENTS]]
            boundaries = [Boundary(**chunk) for chunk in record[c.CHUNK_BOUNDARIES]]
            self._shown = Shown(record[c.TEXT], parts, boundaries, edges, record[c.ROLES])
        return self._shown

    def has(self, path: str) -> bool:
        """Whether the pinned commit has the file `path`."""
        return path in self._blob_of

    def data(self, path: str) -> bytes:
        """The bytes of a file of the pinned commit, none if it has no such file."""
        if path not in self._data:
            blob = self._blob_of.get(path)
            self._data[path] = self._blobs.read(blob) if blob else b""
        return self._data[path]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The definitions that a rule left out, as rows of the skip list; and of all roots of the budget that has the
    fewest, these included, their number and bytes."""

    rows: Sequence[Record]
    roots: int
    root_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes of the definitions that were left out."""
        return sum(row["byte_end"] - row["byte_start"] for row in self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return f"none of {self.roots} definitions left out"
        first = [f"{row['filepath']}:{row['byte_start']} ({row['reason'].removeprefix(LEFT_OUT)})" for row in self.rows]
        count = f"{len(self.rows)} of {self.roots} definitions and {self.bytes} of {self.root_bytes} bytes left out"
        return f"{count}, first {', '.join(first[:NAMED])}"


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
    def _skipped(self) -> list[Record]:
        return list(read_table(self.artifact.file(SKIPPED_FILE)).to_pylist())

    @cached_property
    def left_out(self) -> LeftOut:
        """What rules left out of the documents."""
        rows = [row for row in self._skipped if (row["reason"] or "").startswith(LEFT_OUT)]
        told = min(self.scan.told.values(), key=lambda told: told.root_bytes)
        size = sum(row["byte_end"] - row["byte_start"] for row in rows)
        return LeftOut(rows, told.roots + len(rows), told.root_bytes + size)

    @cached_property
    def _accounted(self) -> dict[DocumentSet, dict[str, Ranges]]:
        """By budget the ranges of each file that lie in a constituent, or are skipped with a reason."""
        ranges = {
            budget: {path: list(found) for path, found in told.placed.items()}
            for budget, told in self.scan.told.items()
        }
        for row in self._skipped:
            for found in ranges.values() if row["reason"] else ():
                found.setdefault(row["filepath"], []).append((row["byte_start"], row["byte_end"]))
        return ranges

    @cached_property
    def lost_bodies(self) -> list[str]:
        """Bodies that nothing accounts for; to be asked first while the repository can be read.

        A body without a definition is one whose head the outline took for something else.
        """
        return [
            f"a body ({row['filepath']}:{source.in_blob(start)}) at {budget} tokens"
            for row in self.read_files
            for source in [decode(row["filepath"], self.scan.data(row["filepath"]))]
            for budget, accounted in self._accounted.items()
            for start, _ in lost_bodies(source.data, source.from_blob(accounted.get(source.path, ())))
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


def read_semantic(artifact: Artifact, sources: tuple[Artifact, Artifact], rules: Rules) -> Semantic:
    """Read every record of `artifact` once, judged by `rules` against its sources: the pinned repository, and the
    decisions on its files, by which secrets are replaced.
    """
    raw, curated = sources
    known = KnownRecords(artifact)
    parsed = read_table(artifact.file(FILES_FILE)).select(["filepath", "standard"]).to_pylist()
    with blob_reader(raw, replaced_spans(curated)) as blobs:
        scan = Scan(raw, blobs, rules, {row["filepath"]: row["standard"] for row in parsed}, known)
        for budget in budgets_of(artifact):
            scan.read(artifact, budget)
        semantic = Semantic(artifact, scan)
        _ = semantic.lost_bodies
    known.write()
    return semantic
