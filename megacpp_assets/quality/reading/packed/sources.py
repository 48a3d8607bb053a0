"""The source documents of packed rows, for the checks of rows: which documents rows must take, and how often.

Memory is 27 bytes per source document of a split, however long the document is. It is twice that if a process checks
mixtures of different documents one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.document_sets import tokens_of
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT, VALID_SPLIT, documents_at_once
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.packed.blend import shards_of_budget, shards_of_split
from megacpp_assets.packed.mixture import entries
from megacpp_assets.quality.reading.fingerprints import fingerprints
from megacpp_assets.quality.reading.leaks import LeakDetector
from megacpp_assets.quality.reading.packed.blocks import BlockDocuments, SplitRows, keys_of, platform_prints
from megacpp_assets.quality.reading.packed.selection import budgets_of, left_out_by_source, mean_times_taken
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.caching.seen import FileState, state_of
from megacpp_assets.storage.parquet import batches, count_rows
from megacpp_assets.storage.ragged import padded, tolerant

_BLOCK_DOCUMENTS = 256


@dataclass(slots=True)
class SplitSources:
    """The source documents of a split, sorted by key, and how often rows contain each of them.

    A group is the documents of one repository in one document set. Its number is `repository * sets + set`.

    `known`, `group` and `taken` have one entry per document: its key and fingerprint, the number of its group, and how
    often rows contain it. `weights` and `tokens` have one entry per group: how often each document is to be taken on
    average, and the tokens of all its documents. `unknown` counts documents of rows that no source has; `changed` those
    that differ from their source. `first` names the first document that is `unknown`, `changed`, or taken too seldom or
    too often (`misfit`).
    """

    known: BlockDocuments
    group: NDArray[np.uint32]
    weights: NDArray[np.float64]
    tokens: NDArray[np.int64]
    taken: NDArray[np.uint32]
    unknown: int = 0
    changed: int = 0
    first: dict[str, str] = field(default_factory=dict)

    def count(self, block: SplitRows) -> None:
        """Count how often the rows of `block` contain each document."""
        place, known = self._find(block.names)
        self._name_first("unknown", block, block.names[~known])
        self.unknown += int((~known).sum())
        np.add.at(self.taken, place[known], np.uint32(1))

    def compare(self, block: SplitRows) -> None:
        """Count the documents of `block` that differ from their source."""
        found = block.documents()
        place, known = self._find(found.keys)
        changed = self.known.prints[place[known]] != found.prints[known]
        self._name_first("changed", block, found.keys[known][changed])
        self.changed += int(changed.sum())

    def _name_first(self, fault: str, block: SplitRows, keys: NDArray[np.uint64]) -> None:
        if len(keys) and fault not in self.first:
            self.first[fault] = block.name_of(keys[0])

    def misfits(self) -> NDArray[np.uint64]:
        """Return the keys of the documents that rows contain too seldom or too often.

        A weight of 2.3 allows 2 or 3 times.
        """
        outside = (self.taken < self._least[self.group]) | (self.taken > self._most[self.group])
        return self.known.keys[outside]

    def _find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return (index of each key in `known`, whether it is known). The index is valid only for a known key."""
        if not len(self.known.keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
        place = np.minimum(np.searchsorted(self.known.keys, keys), len(self.known.keys) - 1)
        return place, self.known.keys[place] == keys

    @property
    def wrong(self) -> int:
        """The number of misfits and unknown documents, plus the difference of each group's sum from the expected sum.

        Each document of a group may be taken floor(weight) or ceil(weight) times, so all of them could be taken too
        seldom without a misfit. The sum of the group finds that.
        """
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
        """Return (least, most) tokens that the rows of this split may contain."""
        return int((self.tokens * self._least).sum()), int((self.tokens * self._most).sum())


@dataclass(frozen=True, slots=True)
class Upstream:
    """The key of the caches below: mixtures of the same documents share what is read of the sources.

    Two keys are equal if their files have the same paths and states, and the recipe selects the same documents.
    `packed` and `inputs` are carried along and not compared.
    """

    recipe: bytes
    files: tuple[tuple[Path, FileState], ...]
    packed: Artifact = field(compare=False, repr=False)
    inputs: Sequence[Artifact] = field(compare=False, repr=False)

    @staticmethod
    def of(packed: Artifact, inputs: Sequence[Artifact]) -> Upstream:
        """Return the key for the rows `packed` and their enriched `inputs`."""
        config = packed.manifest.config
        names = ("document_tokens", "blend", "near_copy", "duplicates", "definitions", "projects")
        decisive = {name: config[name] for name in names}
        if config["packing"]["overflow"] == "file":
            decisive |= {name: config[name] for name in ("packing", "row_tokens", "max_chunks")}
        files = tuple((path, state_of(path)) for source in inputs for path in source.files(".parquet"))
        return Upstream(canonical_json(decisive), files, packed, inputs)


@lru_cache(maxsize=1)
def left_out_and_leaks(upstream: Upstream) -> tuple[Mapping[str, Sequence[NDArray[np.bool_]]], LeakDetector]:
    """Return (by split one mask per source of the documents left out, the leak detector after it saw all documents)."""
    left_out = {split: left_out_by_source(upstream.packed, upstream.inputs, split) for split in SPLITS}
    return left_out, _leaks(upstream.packed, upstream.inputs, left_out)


@lru_cache(maxsize=len(SPLITS))
def _known(upstream: Upstream, split: str) -> tuple[BlockDocuments, NDArray[np.uint32], NDArray[np.int64]]:
    """Return (documents of `split` sorted by key, number of each document's group, tokens of each group).

    Documents that the mixture leaves out are not included.
    """
    left_out = left_out_and_leaks(upstream)[0][split]
    budgets = budgets_of(upstream.packed, split)
    tokens = np.zeros(len(upstream.inputs) * len(budgets), dtype=np.int64)
    parts: list[tuple[BlockDocuments, NDArray[np.uint32]]] = []
    for number, source in enumerate(upstream.inputs):
        done = 0
        for group, budget in enumerate(budgets, number * len(budgets)):
            files, count = (
                shards_of_budget(source, budget, split),
                documents_at_once(_BLOCK_DOCUMENTS, tokens_of(budget)),
            )
            left = left_out[number][done:]
            done += sum(map(count_rows, files))
            for found, lengths in _source_documents(files, count, left):
                tokens[group] += lengths
                parts.append((found, np.full(len(found.keys), group, dtype=np.uint32)))
    keys = _joined((found.keys for found, _ in parts), np.uint64)
    order = np.argsort(keys, kind="stable")
    known = BlockDocuments(keys[order], _joined((found.prints for found, _ in parts), np.uint64)[order])
    return known, _joined((group for _, group in parts), np.uint32)[order], tokens


def sources_of(upstream: Upstream, split: str) -> SplitSources:
    """Return the source documents of `split`, with all counts 0."""
    known, group, tokens = _known(upstream, split)
    weights = np.array([mean_times_taken(upstream.packed, source, split) for source in upstream.inputs]).reshape(-1)
    return SplitSources(known, group, weights, tokens, np.zeros(len(group), dtype=np.uint32))


def first_source_document(upstream: Upstream, split: str, keys: NDArray[np.uint64]) -> str:
    """Return text that names the first source document of `split` whose key is in `keys`."""
    for source in upstream.inputs:
        for file in shards_of_split(source, budgets_of(upstream.packed, split), split):
            for batch in batches(file, _BLOCK_DOCUMENTS, list(c.CARRIED)):
                for place in np.flatnonzero(np.isin(keys_of(map(batch.column, c.CARRIED)), keys))[:1].tolist():
                    return f"document {batch.column(c.DOC_ID)[place]} of {batch.column(c.REPO)[place]}"
    raise AssertionError("no source document has one of these keys, which were read from them")


def _joined(parts: Iterable[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *parts])


def _source_documents(paths: list[Path], most: int, left: NDArray[np.bool_]) -> Iterator[tuple[BlockDocuments, int]]:
    """Yield (documents, sum of their tokens) of enriched files, in batches of at most `most`, without those
    `left` out.
    """
    columns = [c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS]
    done = 0
    for path in paths:
        for batch in batches(path, most, [*c.CARRIED, c.PLATFORM_IDS, *columns]):
            offsets = batch.column(c.TOKEN_IDS_COLUMN).offsets.to_numpy().astype(np.int64)
            ends = offsets[1:] - offsets[0]
            values = [batch.column(name).flatten().to_numpy() for name in columns]
            lists = tolerant(batch.column(c.PLATFORM_IDS))
            platforms = padded(lists.values, lists.lengths, MAX_PLATFORM_IDS)
            prints = fingerprints(values, offsets[:-1] - offsets[0], ends) ^ platform_prints(platforms)
            kept = ~left[done : done + batch.num_rows]
            done += batch.num_rows
            keys = keys_of(map(batch.column, c.CARRIED))
            yield BlockDocuments(keys[kept], prints[kept]), int(np.diff(offsets)[kept].sum())


def _leaks(
    artifact: Artifact, inputs: Sequence[Artifact], left_out: Mapping[str, Sequence[NDArray[np.bool_]]]
) -> LeakDetector:
    """Return a leak detector that saw all documents of the mixture, of both splits."""

    def documents(split: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        budgets = budgets_of(artifact, split)
        for source, left in zip(inputs, left_out[split], strict=True):
            files, most = (
                shards_of_split(source, budgets, split),
                documents_at_once(_BLOCK_DOCUMENTS, max(map(tokens_of, budgets))),
            )
            yield from _kept(files, most, columns, left)

    held = (document for batch in documents(VALID_SPLIT, [c.TEXT, c.CONSTITUENTS]) for document in batch.to_pylist())
    leaks = LeakDetector(held)
    for batch in documents(TRAIN_SPLIT, [c.TEXT]):
        for text in batch.column(c.TEXT).to_pylist():
            leaks.add_training_text(text)
    return leaks


def _kept(files: Sequence[Path], most: int, columns: list[str], left: NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """Yield the documents of `files` in batches of at most `most`, without those `left` out."""
    done = 0
    for path in files:
        for batch in batches(path, most, columns):
            yield batch.filter(pa.array(~left[done : done + batch.num_rows]))
            done += batch.num_rows
