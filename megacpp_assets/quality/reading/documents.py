"""Reads documents of token parquet and enriched parquet for their checks, in batches of bounded size.

Arrow batches come in; the documents that break each rule come out. The data is not trusted: a missing list counts as an
empty one, and a missing value is replaced by one that breaks every rule which reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet, tokens_of
from megacpp_assets.contract.names import documents_at_once
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS, PLATFORM_IDS
from megacpp_assets.quality.reading.fingerprints import text_keys
from megacpp_assets.quality.reading.upstream_facts import UpstreamFacts
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import shards_of
from megacpp_assets.storage.parquet import batches, read_schema
from megacpp_assets.storage.ragged import Ragged, list_lengths, tolerant

PARQUET_SUFFIX = ".parquet"
_BATCH_DOCUMENTS = 512

Mask = NDArray[np.bool_]
"""One flag per document."""
Rule = Callable[[Any], Mask]
"""A function from a batch of documents to the mask of those that break the rule."""


def other_schemas(files: Sequence[Path], schema: pa.Schema) -> list[str]:
    """Return `budget/name` of each file whose schema differs from `schema`."""
    return [f"{file.parent.name}/{file.name}" for file in files if not read_schema(file).equals(schema)]


class Documents:
    """A batch of documents of one budget. A column is decoded once, when a rule first reads it."""

    def __init__(self, batch: pa.RecordBatch, facts: UpstreamFacts, budget: DocumentSet) -> None:
        self.batch = batch
        self.budget = budget
        self.facts = facts
        self._lists: dict[str, Ragged] = {}

    @property
    def count(self) -> int:
        """Number of documents."""
        return int(self.batch.num_rows)

    def lists(self, name: str) -> Ragged:
        """Return a list column; `column.field` names a field of its structs.

        A missing value becomes one outside every range.
        """
        if name not in self._lists:
            column, _, part = name.partition(".")
            lists = self.batch.column(column)
            if part:
                lists = pa.ListArray.from_arrays(lists.offsets, lists.values.field(part))
            self._lists[name] = tolerant(lists, absent=_out_of_range(lists.type.value_type))
        return self._lists[name]

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Return the length of each document's list; 0 for a missing list."""
        return list_lengths(self.batch.column(name))

    def incomplete(self, name: str) -> Mask:
        """Return the documents whose list `name` is missing or has a missing value."""
        column = self.batch.column(name)
        missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        if column.values.null_count:
            missing[pc.list_parent_indices(column).to_numpy()[column.flatten().is_null().to_numpy(False)]] = True
        return missing

    def number(self, name: str) -> NDArray[np.int64]:
        """Return an integer column; -1 for a missing value."""
        return np.asarray(self.batch.column(name).fill_null(-1).to_numpy().astype(np.int64))

    def other_than(self, name: str, value: str) -> Mask:
        """Return the documents whose `name` differs from `value` or is missing."""
        return ~true_of(pc.equal(self.batch.column(name), value))

    def none_of(self, name: str, values: Sequence[str]) -> Mask:
        """Return the documents whose `name` is not in `values` or is missing."""
        return ~true_of(pc.is_in(self.batch.column(name), value_set=pa.array(values, pa.string())))

    def empty(self, name: str) -> Mask:
        """Return the documents whose `name` is empty or missing."""
        return ~true_of(pc.not_equal(self.batch.column(name), ""))

    @property
    def tokens(self) -> Ragged:
        """Token ids."""
        return self.lists(c.TOKEN_IDS_COLUMN)

    @property
    def firsts(self) -> NDArray[np.int64]:
        """Each document's first token; -1 for a document without tokens."""
        tokens = self.tokens
        return np.where(tokens.lengths > 0, np.append(tokens.values, 0)[tokens.offsets[:-1]].astype(np.int64), -1)

    @cached_property
    def characters(self) -> NDArray[np.int64]:
        """Characters of each text; -1 for a missing text."""
        return _int64(pc.utf8_length(self.batch.column(c.TEXT)))

    @cached_property
    def text_bytes(self) -> NDArray[np.int64]:
        """UTF-8 bytes of each text; -1 for a missing text."""
        return _int64(pc.binary_length(self.batch.column(c.TEXT)))

    def invalid_platforms(self) -> Mask:
        """Return the documents whose platforms do not ascend, are out of range, missing, or too many."""
        ids = self.lists(c.PLATFORM_IDS)
        before = np.append(0, ids.values[:-1])[: len(ids.values)]
        rising = (ids.position == 0) | (ids.values > before)
        outside = (ids.values < 1) | (ids.values >= PLATFORM_IDS)
        return ids.any(outside | ~rising) | (ids.lengths > MAX_PLATFORM_IDS) | self.incomplete(c.PLATFORM_IDS)

    def uneven(self, names: Sequence[str], lengths: NDArray[np.int64]) -> Mask:
        """Return the documents where a list of `names` does not have the length in `lengths`, or misses a value."""
        wrong = np.zeros(self.count, dtype=np.bool_)
        for name in names:
            wrong |= (self.lengths(name) != lengths) | self.incomplete(name)
        return wrong


def _out_of_range(kind: pa.DataType) -> int:
    """Return a value that breaks every rule about ranges: -1, or the largest value of an unsigned type."""
    return -1 if pa.types.is_signed_integer(kind) else int(np.iinfo(kind.to_pandas_dtype()).max)


def true_of(flags: pa.BooleanArray) -> Mask:
    """Return the flags as a mask; a missing flag is False."""
    return np.asarray(flags.fill_null(False).to_numpy(zero_copy_only=False))


def _int64(numbers: pa.Array) -> NDArray[np.int64]:
    return np.asarray(numbers.fill_null(-1).to_numpy().astype(np.int64))


@dataclass(slots=True)
class Broken:
    """The number of documents that break a rule, and the smallest of their ids."""

    count: int = 0
    first: str | None = None

    def add(self, mask: Mask, ids: pa.Array) -> None:
        """Record that the documents of `mask` break the rule. `ids` has one id per document."""
        if mask.any():
            self.count += int(mask.sum())
            first = min(ids.filter(pa.array(mask)).fill_null("").to_pylist())
            self.first = first if self.first is None else min(self.first, first)

    def add_named(self, name: str) -> None:
        """Record that the document `name` breaks the rule."""
        self.count += 1
        self.first = name if self.first is None else min(self.first, name)


@dataclass(slots=True)
class RuleResults:
    """The documents of `artifact` that break each rule. `repeated` counts ids that occur twice or more in a budget."""

    artifact: Artifact
    broken: dict[Rule, Broken]
    repeated: Broken = field(default_factory=Broken)


def apply_rules(artifact: Artifact, batches: Iterable[Documents], rules: Sequence[Rule]) -> RuleResults:
    """Apply every rule to all documents of `artifact`, which come in `batches`."""
    found = RuleResults(artifact, {rule: Broken() for rule in rules})
    keys: dict[DocumentSet, list[NDArray[np.uint64]]] = defaultdict(list)
    for documents in batches:
        _apply_to_batch(documents, rules, found)
        keys[documents.budget].append(text_keys(documents.batch.column(c.DOC_ID)))
    for budget, parts in keys.items():
        _count_repeated(found, budget, parts)
    return found


def _apply_to_batch(documents: Documents, rules: Sequence[Rule], found: RuleResults) -> None:
    ids = documents.batch.column(c.DOC_ID)
    for rule in rules:
        found.broken[rule].add(rule(documents), ids)


def document_batches(
    artifact: Artifact, budget: DocumentSet, columns: list[str] | None = None, *, validation: bool | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield all documents of a budget in batches, in order.

    `validation` selects the validation split (True) or the training split (False); None selects both.
    """
    for file in shards_of(artifact, budget, PARQUET_SUFFIX):
        if validation is None or validation == (file.name == c.VAL_SHARD):
            yield from file_batches(file, budget, columns)


def file_batches(file: Path, budget: DocumentSet, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the documents of one file in batches; the batch size depends on the tokens of `budget`."""
    yield from batches(file, documents_at_once(_BATCH_DOCUMENTS, tokens_of(budget)), columns)


def _count_repeated(found: RuleResults, budget: DocumentSet, keys: list[NDArray[np.uint64]]) -> None:
    """Record the ids of a budget that occur twice or more.

    Only 64-bit keys of all ids are kept in memory. The ids are read again only if two keys are equal.
    """
    distinct, counts = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *keys]), return_counts=True)
    twice = distinct[counts > 1]
    if not len(twice):
        return
    # `add` counts each occurrence and keeps the first id; the count wanted is that of distinct ids.
    before = found.repeated.count
    for batch in document_batches(found.artifact, budget, [c.DOC_ID]):
        ids = batch.column(c.DOC_ID)
        found.repeated.add(np.isin(text_keys(ids), twice), ids)
    found.repeated.count = before + len(twice)
