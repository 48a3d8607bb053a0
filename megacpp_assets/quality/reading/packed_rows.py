"""Packed rows as their checks read them: a bounded block of rows at a time, and the documents they are to be made of.

Memory is one block and 27 bytes for each source document of a split, however long the documents are; twice that where
mixtures of other documents follow one another in a process.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT, VALID_SPLIT, documents_at_once
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.schemas import PACKED
from megacpp_assets.packed.blend import origins, shards_of_budget, shards_of_split
from megacpp_assets.packed.duplicates import Clusters, find_clusters
from megacpp_assets.packed.left_out import left_out
from megacpp_assets.packed.mixture import entries
from megacpp_assets.quality.reading.fingerprints import fingerprints
from megacpp_assets.quality.reading.packed_blocks import Block, Documents, keys_of, platform_prints
from megacpp_assets.quality.reading.sides import Sides
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.caching.seen import FileState, state_of
from megacpp_assets.storage.parquet import batches, count_rows, read_schema
from megacpp_assets.storage.ragged import list_lengths, padded, tolerant

_BLOCK_TOKENS = 1 << 18
_BLOCK_DOCUMENTS = 256
_SHOWN_CHARS = 200


def wrong_columns(artifact: Artifact) -> list[str]:
    """`file: column` for each column of packed rows that a file lacks or has with another type."""
    wrong = []
    for file in artifact.files(".parquet"):
        schema = read_schema(file)
        for column in PACKED:
            index = schema.get_field_index(column.name)
            if index < 0 or schema.field(index).type != column.type:
                wrong.append(f"{file.name}: {column.name}")
    return wrong


@dataclass(slots=True)
class Sources:
    """The documents that a split is made of, sorted by key, and how often rows have taken each of them.

    A `group` is those of one repository and one budget, whose number is that of the repository times that of budgets,
    and the place of the budget.
    """

    known: Documents
    group: NDArray[np.uint32]
    weights: NDArray[np.float64]
    tokens: NDArray[np.int64]
    """The times that each document is to be taken in the mean, and `tokens`, by the number in `group`."""
    taken: NDArray[np.uint32]
    unknown: int = 0
    changed: int = 0
    first: dict[str, str] = field(default_factory=dict)
    """The first document by name that is `unknown`, `changed` or taken otherwise (`misfit`)."""

    def take(self, block: Block) -> None:
        """Count the documents of `block` as taken."""
        place, known = self._find(block.names)
        self._name_first("unknown", block, block.names[~known])
        self.unknown += int((~known).sum())
        np.add.at(self.taken, place[known], np.uint32(1))

    def compare(self, block: Block) -> None:
        """Count the documents of `block` that are not as in their source."""
        found = block.documents()
        place, known = self._find(found.keys)
        changed = self.known.prints[place[known]] != found.prints[known]
        self._name_first("changed", block, found.keys[known][changed])
        self.changed += int(changed.sum())

    def _name_first(self, fault: str, block: Block, keys: NDArray[np.uint64]) -> None:
        if len(keys) and fault not in self.first:
            self.first[fault] = block.name_of(keys[0])

    def misfits(self) -> NDArray[np.uint64]:
        """The keys of the documents that were taken too seldom or too often."""
        outside = (self.taken < self._least[self.group]) | (self.taken > self._most[self.group])
        return self.known.keys[outside]

    def _find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The place of each key among the known ones, and whether it is there."""
        if not len(self.known.keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
        place = np.minimum(np.searchsorted(self.known.keys, keys), len(self.known.keys) - 1)
        return place, self.known.keys[place] == keys

    @property
    def wrong(self) -> int:
        """Documents that were taken too seldom or too often, or are of no source, and those that a group's sum is too
        small or too large by."""
        wanted = [entries(int(count), weight) for count, weight in zip(self._counts, self.weights, strict=True)]
        missed = np.bincount(self.group, weights=self.taken, minlength=len(wanted)).astype(np.int64) - wanted
        return len(self.misfits()) + int(np.abs(missed).sum()) + self.unknown

    @property
    def _least(self) -> NDArray[np.int64]:
        return np.floor(self.weights).astype(np.int64)

    @property
    def _most(self) -> NDArray[np.int64]:
        return np.ceil(self.weights).astype(np.int64)

    @property
    def _counts(self) -> NDArray[np.int64]:
        return np.bincount(self.group, minlength=len(self.weights))

    def bounds(self) -> tuple[int, int]:
        """Least and most tokens that the rows of this split may hold."""
        return int((self.tokens * self._least).sum()), int((self.tokens * self._most).sum())


@dataclass(frozen=True, slots=True)
class _Upstream:
    """What all mixtures of the same documents are held against; it is read once for those that follow one another.

    It is the same where the `files`, in the state they are in, and what the `recipe` says of them are.
    """

    recipe: bytes
    files: tuple[tuple[Path, FileState], ...]
    packed: Artifact = field(compare=False, repr=False)
    inputs: Sequence[Artifact] = field(compare=False, repr=False)

    @staticmethod
    def of(packed: Artifact, inputs: Sequence[Artifact]) -> _Upstream:
        config = packed.manifest.config
        decisive = {name: config[name] for name in ("document_tokens", "blend", "near_copy", "duplicates")}
        if config["packing"]["overflow"] == "file":
            decisive |= {name: config[name] for name in ("packing", "row_tokens", "max_chunks")}
        files = tuple((path, state_of(path)) for source in inputs for path in source.files(".parquet"))
        return _Upstream(canonical_json(decisive), files, packed, inputs)


@lru_cache(maxsize=1)
def _outside_and_sides(upstream: _Upstream) -> tuple[Mapping[str, Sequence[NDArray[np.bool_]]], Sides]:
    """By split, which documents of each source the mixture leaves out; and those of both sides."""
    outside = {split: _outside(upstream.packed, upstream.inputs, split) for split in SPLITS}
    return outside, _sides(upstream.packed, upstream.inputs, outside)


@lru_cache(maxsize=len(SPLITS))
def _known(upstream: _Upstream, split: str) -> tuple[Documents, NDArray[np.uint32], NDArray[np.int64]]:
    """The documents of `split` in the sources, sorted by key, but for those left out; the number of the group of each;
    the tokens of each group."""
    outside = _outside_and_sides(upstream)[0][split]
    budgets = _budgets(upstream.packed, split)
    tokens = np.zeros(len(upstream.inputs) * len(budgets), dtype=np.int64)
    parts: list[tuple[Documents, NDArray[np.uint32]]] = []
    for number, source in enumerate(upstream.inputs):
        done = 0
        for group, budget in enumerate(budgets, number * len(budgets)):
            files, count = shards_of_budget(source, budget, split), documents_at_once(_BLOCK_DOCUMENTS, budget)
            left = outside[number][done:]
            done += sum(map(count_rows, files))
            for found, lengths in _source_documents(files, count, left):
                tokens[group] += lengths
                parts.append((found, np.full(len(found.keys), group, dtype=np.uint32)))
    keys = _joined((found.keys for found, _ in parts), np.uint64)
    order = np.argsort(keys, kind="stable")
    known = Documents(keys[order], _joined((found.prints for found, _ in parts), np.uint64)[order])
    return known, _joined((group for _, group in parts), np.uint32)[order], tokens


def _sources(upstream: _Upstream, split: str) -> Sources:
    """The documents of `split`, none of them taken yet."""
    known, group, tokens = _known(upstream, split)
    weights = np.array([_times(upstream.packed, source, split) for source in upstream.inputs]).reshape(-1)
    return Sources(known, group, weights, tokens, np.zeros(len(group), dtype=np.uint32))


def _budgets(packed: Artifact, split: str) -> tuple[int, ...]:
    """The budgets that the documents of `split` are of: the mixture's own, and where they train those it blends in."""
    own, blend = int(packed.manifest.config["document_tokens"]), packed.manifest.config["blend"]
    return (own, *sorted(map(int, blend))) if split == TRAIN_SPLIT else (own,)


def _joined(parts: Iterable[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *parts])


def _times(packed: Artifact, source: Artifact, split: str) -> list[float]:
    """How often, in the mean, the mixture takes a document of `source` of each budget; the validation split takes each
    once."""
    if split != TRAIN_SPLIT:
        return [1.0]
    repo, config = source.manifest.partition.partition("@")[0], packed.manifest.config
    weight = float(config["weights"].get(repo, 1.0))
    return [weight * float(config["blend"].get(str(budget), 1.0)) for budget in _budgets(packed, split)]


def _outside(packed: Artifact, inputs: Sequence[Artifact], split: str) -> list[NDArray[np.bool_]]:
    """By source, which documents of `split` the mixture leaves out: near copies, none of which validates, what another
    budget has too, and what no row holds where the recipe keeps it in a file."""
    near, files = _near(packed, inputs, split)
    if split == TRAIN_SPLIT and packed.manifest.config["blend"]:
        again = [origins(source, _budgets(packed, split)).again for source in inputs]
        near = [flags | twice for flags, twice in zip(near, again, strict=True)]
    if split == TRAIN_SPLIT and packed.manifest.config["duplicates"] != "ignore":
        removed = _clusters(packed, files).removed(packed.manifest.config["duplicates"])
        ends = np.cumsum([len(flags) for flags in near])[:-1]
        near = [flags | twice for flags, twice in zip(near, np.split(removed, ends), strict=True)]
    if packed.manifest.config["packing"]["overflow"] != "file":
        return near
    return [flags | _over(packed, paths) for flags, paths in zip(near, files, strict=True)]


def _over(packed: Artifact, paths: Sequence[Path]) -> NDArray[np.bool_]:
    tokens, chunks = (int(packed.manifest.config[key]) for key in ("row_tokens", "max_chunks"))
    parts = [np.zeros(0, dtype=np.bool_)]
    for path in paths:
        for batch in batches(path, _BLOCK_DOCUMENTS, [c.ACTUAL_TOKEN_COUNT, c.TOKEN_CHUNK_STARTS_COLUMN]):
            is_long = batch.column(c.ACTUAL_TOKEN_COUNT).to_numpy() > tokens
            parts.append(is_long | (list_lengths(batch.column(c.TOKEN_CHUNK_STARTS_COLUMN)) > chunks))
    return np.concatenate(parts)


def _clusters(packed: Artifact, files: Sequence[Sequence[Path]]) -> Clusters:
    return find_clusters(files, float(packed.manifest.config["near_copy"]))


def duplicates_told(packed: Artifact, inputs: Sequence[Artifact]) -> str:
    """What is wrong with the file of clusters beside the rows; "" for nothing."""
    told = [line for path in packed.files("", c.DUPLICATES_FILE) for line in _lines(path)]
    if packed.manifest.config["duplicates"] == "ignore":
        return "clusters that nobody asked for" if told else ""
    _, files = _near(packed, inputs, TRAIN_SPLIT)
    for number, (line, expected) in enumerate(zip_longest(told, _clusters(packed, files).lines()), 1):
        if line != expected:
            return f"other clusters than the documents have, line {number} first: {_shown(line)} for {_shown(expected)}"
    return ""


def _shown(line: bytes | None) -> str:
    return line.decode(errors="replace").strip()[:_SHOWN_CHARS] if line else "nothing"


def overflow_misfits(packed: Artifact, inputs: Sequence[Artifact], split: str) -> Iterator[str]:
    """The lines of the overflow file that are not the documents that no row holds, whole and in their order, each with
    the document that it should be."""
    near, files = _near(packed, inputs, split)
    expected = (
        record
        for paths, left in zip(files, near, strict=True)
        for record in _flagged(paths, _over(packed, paths) & ~left)
    )
    found = (line for path in packed.files("", c.overflow_file(split)) for line in _lines(path))
    for number, (record, line) in enumerate(zip_longest(expected, found), 1):
        if line is None or record is None or orjson.loads(line) != record:
            document = "no document" if record is None else f"document {record[c.DOC_ID]} of {record[c.REPO]}"
            yield f"line {number} of {c.overflow_file(split)} for {document}"


def _flagged(paths: Sequence[Path], flags: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    done = 0
    for path in paths:
        for batch in batches(path, _BLOCK_DOCUMENTS):
            yield from batch.take(np.flatnonzero(flags[done : done + batch.num_rows])).to_pylist()
            done += batch.num_rows


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        yield from io.BufferedReader(stream)


def _near(packed: Artifact, inputs: Sequence[Artifact], split: str) -> tuple[list[NDArray[np.bool_]], list[list[Path]]]:
    """By source, which documents of `split` are left out as near copies, and its files."""
    budgets = _budgets(packed, TRAIN_SPLIT)
    trained, held = (
        [shards_of_split(source, budgets, side) for source in inputs] for side in (TRAIN_SPLIT, VALID_SPLIT)
    )
    if split == TRAIN_SPLIT:
        return left_out(trained, held, float(packed.manifest.config["near_copy"])), trained
    rows = [sum(pq.read_metadata(path).num_rows for path in files) for files in held]
    return [np.zeros(count, dtype=np.bool_) for count in rows], held


def _source_documents(paths: list[Path], most: int, outside: NDArray[np.bool_]) -> Iterator[tuple[Documents, int]]:
    """The documents of enriched files, at `most` so many at a time, but for those `outside`, and their tokens."""
    columns = [c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS]
    done = 0
    for path in paths:
        for batch in batches(path, most, [c.REPO, c.DOC_ID, c.PLATFORM_IDS, *columns]):
            offsets = batch.column(c.TOKEN_IDS_COLUMN).offsets.to_numpy().astype(np.int64)
            ends = offsets[1:] - offsets[0]
            values = [batch.column(name).flatten().to_numpy() for name in columns]
            told = tolerant(batch.column(c.PLATFORM_IDS))
            platforms = padded(told.values, told.lengths, MAX_PLATFORM_IDS)
            prints = fingerprints(values, offsets[:-1] - offsets[0], ends) ^ platform_prints(platforms)
            kept = ~outside[done : done + batch.num_rows]
            done += batch.num_rows
            keys = keys_of(batch.column(c.REPO), batch.column(c.DOC_ID))
            yield Documents(keys[kept], prints[kept]), int(np.diff(offsets)[kept].sum())


Rule = Callable[[Block], int]
"""What a block of rows holds that breaks it."""


@dataclass(slots=True)
class Packed:
    """What one pass over the rows and their sources found: `broken` by rule, sources, valid tokens and marks by split,
    and misfits of the `overflow` files."""

    artifact: Artifact
    broken: dict[Rule, int]
    sides: Sides
    first: dict[Rule, str] = field(default_factory=dict)
    """The first row that breaks a rule, where one does."""
    sources: dict[str, Sources] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    overflow: list[str] = field(default_factory=list)
    duplicates: str = ""


def pass_over(artifact: Artifact, inputs: Sequence[Artifact], rules: Sequence[Rule]) -> Packed:
    """Read every row once, and every source document once for all mixtures of them in a row."""
    width = int(artifact.manifest.config["row_tokens"])
    upstream = _Upstream.of(artifact, inputs)
    found = Packed(artifact, dict.fromkeys(rules, 0), _outside_and_sides(upstream)[1])
    found.duplicates = duplicates_told(artifact, inputs)
    for split in SPLITS:
        sources = found.sources[split] = _sources(upstream, split)
        if artifact.manifest.config["packing"]["overflow"] == "file":
            found.overflow += list(overflow_misfits(artifact, inputs, split))
        found.tokens[split] = found.marks[split] = 0
        for block in _blocks(artifact, split, width):
            for rule in rules:
                count = rule(block)
                found.broken[rule] += count
                if count and rule not in found.first:
                    found.first[rule] = f"row {block.first_row(rule)} of {split}"
            sources.take(block)
            sources.compare(block)
            found.tokens[split] += block.held
            found.marks[split] += block.marks
        if len(misfits := sources.misfits()):
            sources.first["misfit"] = _first_misfit(upstream, split, misfits)
    return found


def _first_misfit(upstream: _Upstream, split: str, keys: NDArray[np.uint64]) -> str:
    """The first document of the sources whose key is one of `keys`, by name."""
    for source in upstream.inputs:
        for file in shards_of_split(source, _budgets(upstream.packed, split), split):
            for batch in batches(file, _BLOCK_DOCUMENTS, [c.REPO, c.DOC_ID]):
                repos, doc_ids = batch.column(c.REPO), batch.column(c.DOC_ID)
                for place in np.flatnonzero(np.isin(keys_of(repos, doc_ids), keys))[:1].tolist():
                    return f"document {doc_ids[place]} of {repos[place]}"
    raise AssertionError("a key of the sources that none of their documents has")


def _sides(artifact: Artifact, inputs: Sequence[Artifact], outside: Mapping[str, Sequence[NDArray[np.bool_]]]) -> Sides:
    """The documents that the mixture holds, on both sides."""

    def documents(split: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        budgets = _budgets(artifact, split)
        for source, left in zip(inputs, outside[split], strict=True):
            files, most = shards_of_split(source, budgets, split), documents_at_once(_BLOCK_DOCUMENTS, max(budgets))
            yield from _kept(files, most, columns, left)

    held = (document for batch in documents(VALID_SPLIT, [c.TEXT, c.CONSTITUENTS]) for document in batch.to_pylist())
    sides = Sides(held)
    for batch in documents(TRAIN_SPLIT, [c.TEXT]):
        for text in batch.column(c.TEXT).to_pylist():
            sides.train(text)
    return sides


def _kept(files: Sequence[Path], most: int, columns: list[str], left: NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """The documents of `files` that are not `left` out."""
    done = 0
    for path in files:
        for batch in batches(path, most, columns):
            yield batch.filter(pa.array(~left[done : done + batch.num_rows]))
            done += batch.num_rows


def _blocks(artifact: Artifact, split: str, width: int) -> Iterator[Block]:
    first = 0
    for file in artifact.files(".parquet"):
        if not file.name.startswith(f"{split}_"):
            continue
        for batch in batches(file, max(1, _BLOCK_TOKENS // width)):
            yield Block(batch, first, width)
            first += batch.num_rows
