"""Documents of token parquet and of enriched parquet as their checks read them: a bounded batch at a time.

Arrow batches come in; for each rule, which documents break it goes out. Nothing is taken for sound: a list that is not
there is an empty one, and a value that is not there is one that breaks the rule that looks at it.
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
from megacpp_assets.quality.document_rules import Facts
from megacpp_assets.quality.reading.fingerprints import text_keys
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import shards_of
from megacpp_assets.storage.parquet import batches, read_schema
from megacpp_assets.storage.ragged import Ragged, list_lengths, tolerant

PARQUET_SUFFIX = ".parquet"
_BATCH_DOCUMENTS = 512

Mask = NDArray[np.bool_]
"""One flag per document."""
Rule = Callable[[Any], Mask]
"""Which documents of a batch break it."""


def other_schemas(files: Sequence[Path], schema: pa.Schema) -> list[str]:
    """Budget and name of the files that have other fields than those of `schema`."""
    return [f"{file.parent.name}/{file.name}" for file in files if not read_schema(file).equals(schema)]


class Documents:
    """A batch of documents of one budget. Columns are worked out once, when a rule first asks for them."""

    def __init__(self, batch: pa.RecordBatch, facts: Facts, budget: DocumentSet) -> None:
        self.batch = batch
        self.budget = budget
        self.facts = facts
        self._lists: dict[str, Ragged] = {}

    @property
    def count(self) -> int:
        """Number of documents."""
        return int(self.batch.num_rows)

    def lists(self, name: str) -> Ragged:
        """A list column; `column.field` names a field of its structs. A value that is not there is out of any range."""
        if name not in self._lists:
            column, _, part = name.partition(".")
            lists = self.batch.column(column)
            if part:
                lists = pa.ListArray.from_arrays(lists.offsets, lists.values.field(part))
            self._lists[name] = tolerant(lists, absent=_impossible(lists.type.value_type))
        return self._lists[name]

    def lengths(self, name: str) -> NDArray[np.int64]:
        """The length of each document's list."""
        return list_lengths(self.batch.column(name))

    def incomplete(self, name: str) -> Mask:
        """Documents without a list `name`, or with a value missing in it."""
        column = self.batch.column(name)
        missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        if column.values.null_count:
            missing[pc.list_parent_indices(column).to_numpy()[column.flatten().is_null().to_numpy(False)]] = True
        return missing

    def number(self, name: str) -> NDArray[np.int64]:
        """An integer column; -1 where there is none."""
        return np.asarray(self.batch.column(name).fill_null(-1).to_numpy().astype(np.int64))

    def other_than(self, name: str, value: str) -> Mask:
        """Documents whose `name` is not `value`, or is not there."""
        return ~true_of(pc.equal(self.batch.column(name), value))

    def none_of(self, name: str, values: Sequence[str]) -> Mask:
        """Documents whose `name` is none of `values`, or is not there."""
        return ~true_of(pc.is_in(self.batch.column(name), value_set=pa.array(values, pa.string())))

    def empty(self, name: str) -> Mask:
        """Documents whose `name` is empty, or is not there."""
        return ~true_of(pc.not_equal(self.batch.column(name), ""))

    @property
    def tokens(self) -> Ragged:
        """Token ids."""
        return self.lists(c.TOKEN_IDS_COLUMN)

    @property
    def firsts(self) -> NDArray[np.int64]:
        """Each document's first token; -1 for a document without any."""
        tokens = self.tokens
        return np.where(tokens.lengths > 0, np.append(tokens.values, 0)[tokens.offsets[:-1]].astype(np.int64), -1)

    @cached_property
    def characters(self) -> NDArray[np.int64]:
        """Characters of each text."""
        return _whole(pc.utf8_length(self.batch.column(c.TEXT)))

    @cached_property
    def text_bytes(self) -> NDArray[np.int64]:
        """Bytes of each text in UTF-8."""
        return _whole(pc.binary_length(self.batch.column(c.TEXT)))

    def platforms_odd(self) -> Mask:
        """Documents whose platforms do not ascend, are out of range or too many."""
        ids = self.lists(c.PLATFORM_IDS)
        before = np.append(0, ids.values[:-1])[: len(ids.values)]
        rising = (ids.position == 0) | (ids.values > before)
        outside = (ids.values < 1) | (ids.values >= PLATFORM_IDS)
        return ids.any(outside | ~rising) | (ids.lengths > MAX_PLATFORM_IDS) | self.incomplete(c.PLATFORM_IDS)

    def uneven(self, names: Sequence[str], lengths: NDArray[np.int64]) -> Mask:
        """Documents in which a list of `names` has another length than `lengths`, or lacks a value."""
        wrong = np.zeros(self.count, dtype=np.bool_)
        for name in names:
            wrong |= (self.lengths(name) != lengths) | self.incomplete(name)
        return wrong


def _impossible(kind: pa.DataType) -> int:
    return -1 if pa.types.is_signed_integer(kind) else int(np.iinfo(kind.to_pandas_dtype()).max)


def true_of(flags: pa.BooleanArray) -> Mask:
    """The flags; what is not known is false."""
    return np.asarray(flags.fill_null(False).to_numpy(zero_copy_only=False))


def _whole(numbers: pa.Array) -> NDArray[np.int64]:
    return np.asarray(numbers.fill_null(-1).to_numpy().astype(np.int64))


@dataclass(slots=True)
class Broken:
    """How many documents break a rule, and the first of them by id."""

    count: int = 0
    first: str | None = None

    def add(self, mask: Mask, ids: pa.Array) -> None:
        """The documents of `mask` break it."""
        if mask.any():
            self.count += int(mask.sum())
            first = min(ids.filter(pa.array(mask)).fill_null("").to_pylist())
            self.first = first if self.first is None else min(self.first, first)

    def add_named(self, name: str) -> None:
        """The document `name` breaks it."""
        self.count += 1
        self.first = name if self.first is None else min(self.first, name)


@dataclass(slots=True)
class Pass:
    """What one pass over `artifact` found, by rule; `repeated` counts ids that occur more than once in a budget."""

    artifact: Artifact
    broken: dict[Rule, Broken]
    repeated: Broken = field(default_factory=Broken)


def pass_over(artifact: Artifact, batches: Iterable[Documents], rules: Sequence[Rule]) -> Pass:
    """Judge all documents of `artifact`, which come in `batches`, by every rule."""
    found = Pass(artifact, {rule: Broken() for rule in rules})
    keys: dict[DocumentSet, list[NDArray[np.uint64]]] = defaultdict(list)
    for documents in batches:
        keys[documents.budget].append(_judge(documents, rules, found))
    for budget, parts in keys.items():
        _count_repeated(found, budget, parts)
    return found


def _judge(documents: Documents, rules: Sequence[Rule], found: Pass) -> NDArray[np.uint64]:
    """Keys of the documents, which are judged by `rules`."""
    ids = documents.batch.column(c.DOC_ID)
    for rule in rules:
        found.broken[rule].add(rule(documents), ids)
    return text_keys(ids)


def document_batches(
    artifact: Artifact, budget: DocumentSet, columns: list[str] | None = None, *, validation: bool | None = None
) -> Iterator[pa.RecordBatch]:
    """All documents of a budget, in order, a bounded batch at a time; those of one side if `validation` says so."""
    for file in shards_of(artifact, budget, PARQUET_SUFFIX):
        if validation is None or validation == (file.name == c.VAL_SHARD):
            yield from file_batches(file, budget, columns)


def file_batches(file: Path, budget: DocumentSet, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The documents of one file, which are of `budget`."""
    yield from batches(file, documents_at_once(_BATCH_DOCUMENTS, tokens_of(budget)), columns)


def _count_repeated(found: Pass, budget: DocumentSet, keys: list[NDArray[np.uint64]]) -> None:
    """Ids are compared by 64-bit key; their text is read again only where keys are equal."""
    distinct, counts = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *keys]), return_counts=True)
    twice = distinct[counts > 1]
    if not len(twice):
        return
    before = found.repeated.count
    for batch in document_batches(found.artifact, budget, [c.DOC_ID]):
        ids = batch.column(c.DOC_ID)
        found.repeated.add(np.isin(text_keys(ids), twice), ids)
    found.repeated.count = before + len(twice)
