"""Documents of enriched parquet as their checks read them, each beside itself in the token parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet
from megacpp_assets.contract.schemas import ENRICHED, TOKENIZED
from megacpp_assets.quality.document_rules import Facts
from megacpp_assets.quality.reading.documents import (
    PARQUET_SUFFIX,
    Documents,
    Mask,
    Pass,
    Rule,
    file_batches,
    pass_over,
    true_of,
)
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of, shards_of
from megacpp_assets.storage.ragged import Ragged

_SOURCE_COLUMNS = [
    c.DOC_ID, c.TEXT, c.PLATFORM_IDS, c.TOKEN_IDS_COLUMN, c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS, *c.CHAR_COLUMNS,
    *c.CHANGE_COLUMNS,
]  # fmt: skip


class EnrichedDocuments(Documents):
    """Documents, and `source`: as many of the token parquet, by place."""

    def __init__(self, batch: pa.RecordBatch, facts: Facts, budget: DocumentSet, source: pa.RecordBatch) -> None:
        super().__init__(batch, facts, budget)
        self.source = Documents(source, facts, budget)

    def chunks_disordered(self) -> Mask:
        """Documents with chunks that do not start one after the other, end before they start, or leave the document."""
        starts, ends = (self.lists(name) for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN))
        sound = starts.lengths == ends.lengths
        starts, ends = starts.keep(sound), ends.keep(sound)
        before = np.concatenate([np.zeros(1, np.int64), starts.values[:-1].astype(np.int64)])[: len(starts.values)]
        rising = (starts.position == 0) | (starts.values > before)
        inside = (starts.values < ends.values) & (ends.values <= ends.repeat(self.tokens.lengths))
        return ~sound | starts.any(~(rising & inside))

    def levels_astray(self) -> Mask:
        """Documents in which a chunk's first token has not the chunk's level, or one before all chunks has any."""
        levels = self.lists(c.TOKEN_DEP_LEVELS_COLUMN)
        starts, expected = (self.lists(name) for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_DEP_LEVELS_COLUMN))
        sound = starts.lengths == expected.lengths
        starts, expected = starts.keep(sound), expected.keep(sound)
        place = starts.values.astype(np.int64)
        inside = place < starts.repeat(levels.lengths)
        found = np.append(levels.values, 0)[np.where(inside, starts.repeat(levels.offsets[:-1]) + place, -1)]
        wrong = starts.any(~inside | (found != expected.values))
        first = np.append(place, 0)[np.minimum(starts.offsets[:-1], len(place))]
        prefix = np.where(starts.lengths > 0, first, levels.lengths)
        return ~sound | wrong | levels.any((levels.position < levels.repeat(prefix)) & (levels.values != 0))

    @cached_property
    def strangers(self) -> Mask:
        """Documents whose source has another id."""
        return ~true_of(pc.equal(self.batch.column(c.DOC_ID), self.source.batch.column(c.DOC_ID)))

    def texts_differ(self) -> Mask:
        """Documents with another text than their source."""
        return ~true_of(pc.equal(self.batch.column(c.TEXT), self.source.batch.column(c.TEXT))) | self.strangers

    def tokens_differ(self) -> Mask:
        """Documents with other tokens than their source."""
        return _differ(self.tokens, self.source.tokens) | self.strangers

    def platforms_differ(self) -> Mask:
        """Documents with other platforms than their source."""
        return _differ(self.lists(c.PLATFORM_IDS), self.source.lists(c.PLATFORM_IDS)) | self.strangers

    def values_differ(self) -> Mask:
        """Documents with a token that has another value than its first character in the source, or another than the
        fill value where the source has none."""
        wrong, source = self.strangers.copy(), self.source
        starts, ends = source.lists(c.TOKEN_CHAR_STARTS), source.lists(c.TOKEN_CHAR_ENDS)
        sound = starts.lengths == ends.lengths
        starts, ends = starts.keep(sound), ends.keep(sound)
        covers = (ends.values > starts.values) & (starts.values >= 0)
        offsets, place, none = None, starts.values, starts.values
        for name, token_name in (c.TOKEN_OF_CHAR | c.TOKEN_OF_CHANGE).items():
            chars = source.lists(name)
            if offsets is None or not np.array_equal(offsets, chars.offsets):
                offsets = chars.offsets
                held = covers & (starts.values < starts.repeat(chars.lengths))
                place, none = starts.repeat(offsets[:-1]) + starts.values, np.flatnonzero(~held)
                place[none] = 0
            fill = -1 if name == c.HUNK_ID else 0
            expected = chars.values.take(place) if len(chars.values) else np.full(len(place), fill, chars.values.dtype)
            expected[none] = fill
            wrong |= _differ(self.lists(token_name), Ragged(starts.offsets, expected))
        return wrong


def _differ(one: Ragged, other: Ragged) -> Mask:
    alike = one.lengths == other.lengths
    left, right = one.keep(alike), other.keep(alike)
    return np.asarray(~alike | left.any(left.values != right.values))


def pass_beside(
    artifact: Artifact, source: Artifact, facts: Facts, rules: Sequence[Rule], comparing: Sequence[Rule]
) -> Pass:
    """Judge every document by `rules`, and beside the documents of `source` by `comparing`.

    Both have the same files with the same documents. One without the other breaks each rule of `comparing`.
    """
    lost: list[pa.Array] = []
    found = pass_over(artifact, _documents(artifact, source, facts, lost), (*rules, *comparing))
    for ids in lost:
        for rule in comparing:
            found.broken[rule].add(np.ones(len(ids), dtype=np.bool_), ids)
    return found


def _documents(artifact: Artifact, source: Artifact, facts: Facts, lost: list[pa.Array]) -> Iterator[EnrichedDocuments]:
    """The documents by file and place, each beside its source; ids of sources without a document go to `lost`."""
    for budget in budgets_of(source):
        ours, theirs = (
            {file.name: file for file in shards_of(each, budget, PARQUET_SUFFIX)} for each in (artifact, source)
        )
        for name in sorted(ours.keys() | theirs.keys()):
            mine = _Reader(ours.get(name), budget, ENRICHED.names)
            other = _Reader(theirs.get(name), budget, _SOURCE_COLUMNS)
            for batch, beside in _beside(mine, other, lost):
                yield EnrichedDocuments(batch, facts, budget, beside)


def _beside(mine: _Reader, other: _Reader, lost: list[pa.Array]) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    while count := min(mine.ready or other.ready, other.ready or mine.ready):
        source = other.take(count, TOKENIZED)
        if mine.ready:
            yield mine.take(count, ENRICHED), source
        else:
            lost.append(source.column(c.DOC_ID))


class _Reader:
    """The documents of a file, any number at a time; behind its end, or without a file, documents of nulls."""

    def __init__(self, file: Path | None, budget: DocumentSet, columns: list[str]) -> None:
        self._columns = columns
        self._batches = file_batches(file, budget, columns) if file else iter(())
        self._batch: pa.RecordBatch | None = next(self._batches, None)

    @property
    def ready(self) -> int:
        """Documents that can be taken at once; 0 at the end."""
        return self._batch.num_rows if self._batch is not None else 0

    def take(self, count: int, schema: pa.Schema) -> pa.RecordBatch:
        """The next `count` documents."""
        if self._batch is None:
            fields = [schema.field(name) for name in self._columns]
            return pa.RecordBatch.from_arrays([pa.nulls(count, field.type) for field in fields], self._columns)
        taken, rest = self._batch.slice(0, count), self._batch.slice(count)
        self._batch = rest if rest.num_rows else next(self._batches, None)
        return taken
