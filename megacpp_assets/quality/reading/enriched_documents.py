"""Reads documents of enriched parquet for their checks, each with the same document of the token parquet."""

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
from megacpp_assets.quality.reading.documents import (
    PARQUET_SUFFIX,
    Documents,
    Mask,
    Rule,
    RuleResults,
    apply_rules,
    file_batches,
    true_of,
)
from megacpp_assets.quality.reading.upstream_facts import UpstreamFacts
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of, shards_of
from megacpp_assets.storage.ragged import Ragged

_SOURCE_COLUMNS = [
    c.DOC_ID, c.TEXT, c.PLATFORM_IDS, c.TOKEN_IDS_COLUMN, c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS, *c.CHAR_COLUMNS,
    *c.CHANGE_COLUMNS,
]  # fmt: skip


class EnrichedDocuments(Documents):
    """A batch of documents, and `source`: the documents at the same places in the token parquet."""

    def __init__(
        self, batch: pa.RecordBatch, facts: UpstreamFacts, budget: DocumentSet, source: pa.RecordBatch
    ) -> None:
        super().__init__(batch, facts, budget)
        self.source = Documents(source, facts, budget)

    def invalid_chunks(self) -> Mask:
        """Documents with chunks whose starts do not increase, that are empty, or that end outside the document."""
        starts, ends = (self.lists(name) for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN))
        sound = starts.lengths == ends.lengths
        starts, ends = starts.keep(sound), ends.keep(sound)
        before = np.concatenate([np.zeros(1, np.int64), starts.values[:-1].astype(np.int64)])[: len(starts.values)]
        rising = (starts.position == 0) | (starts.values > before)
        inside = (starts.values < ends.values) & (ends.values <= ends.repeat(self.tokens.lengths))
        return ~sound | starts.any(~(rising & inside))

    def wrong_levels(self) -> Mask:
        """Return the documents in which a chunk's first token does not have the chunk's dependency level.

        Tokens before the first chunk must have level 0.
        """
        levels = self.lists(c.TOKEN_DEP_LEVELS_COLUMN)
        starts, expected = (self.lists(name) for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_DEP_LEVELS_COLUMN))
        sound = starts.lengths == expected.lengths
        starts, expected = starts.keep(sound), expected.keep(sound)
        place = starts.values.astype(np.int64)
        inside = place < starts.repeat(levels.lengths)
        # A chunk that starts outside reads the appended 0; the mask `inside` marks it as wrong.
        found = np.append(levels.values, 0)[np.where(inside, starts.repeat(levels.offsets[:-1]) + place, -1)]
        wrong = starts.any(~inside | (found != expected.values))
        # The tokens before the first chunk: all tokens if the document has no chunk.
        first = np.append(place, 0)[np.minimum(starts.offsets[:-1], len(place))]
        prefix = np.where(starts.lengths > 0, first, levels.lengths)
        return ~sound | wrong | levels.any((levels.position < levels.repeat(prefix)) & (levels.values != 0))

    @cached_property
    def ids_differ(self) -> Mask:
        """Documents whose id differs from the source's, or whose source is missing."""
        return ~true_of(pc.equal(self.batch.column(c.DOC_ID), self.source.batch.column(c.DOC_ID)))

    def texts_differ(self) -> Mask:
        """Return the documents whose text differs from the source's."""
        return ~true_of(pc.equal(self.batch.column(c.TEXT), self.source.batch.column(c.TEXT))) | self.ids_differ

    def tokens_differ(self) -> Mask:
        """Return the documents whose tokens differ from the source's."""
        return _differ(self.tokens, self.source.tokens) | self.ids_differ

    def platforms_differ(self) -> Mask:
        """Return the documents whose platforms differ from the source's."""
        return _differ(self.lists(c.PLATFORM_IDS), self.source.lists(c.PLATFORM_IDS)) | self.ids_differ

    def values_differ(self) -> Mask:
        """Return the documents with a token whose value differs from that of its first character in the source.

        A token without a character (BOS), or of a document without the column, must have the fill value.
        """
        wrong, source = self.ids_differ.copy(), self.source
        starts, ends = source.lists(c.TOKEN_CHAR_STARTS), source.lists(c.TOKEN_CHAR_ENDS)
        sound = starts.lengths == ends.lengths
        starts, ends = starts.keep(sound), ends.keep(sound)
        covers = (ends.values > starts.values) & (starts.values >= 0)
        offsets, place, without_char = None, starts.values, starts.values
        for name, token_name in (c.TOKEN_OF_CHAR | c.TOKEN_OF_CHANGE).items():
            chars = source.lists(name)
            # Columns usually have the same offsets, so the places computed for one column serve the next one too.
            if offsets is None or not np.array_equal(offsets, chars.offsets):
                offsets = chars.offsets
                has_char = covers & (starts.values < starts.repeat(chars.lengths))
                place, without_char = starts.repeat(offsets[:-1]) + starts.values, np.flatnonzero(~has_char)
                place[without_char] = 0
            fill = -1 if name == c.HUNK_ID else 0
            expected = chars.values.take(place) if len(chars.values) else np.full(len(place), fill, chars.values.dtype)
            expected[without_char] = fill
            wrong |= _differ(self.lists(token_name), Ragged(starts.offsets, expected))
        return wrong


def _differ(one: Ragged, other: Ragged) -> Mask:
    """Return the documents whose lists differ, in length or in a value."""
    same_length = one.lengths == other.lengths
    left, right = one.keep(same_length), other.keep(same_length)
    return np.asarray(~same_length | left.any(left.values != right.values))


def apply_rules_with_source(
    artifact: Artifact, source: Artifact, facts: UpstreamFacts, rules: Sequence[Rule], comparing: Sequence[Rule]
) -> RuleResults:
    """Apply `rules` to every document, and `comparing` to every document and its source.

    Both artifacts must have the same files with the same documents. A document that only one of them has breaks every
    rule of `comparing`.
    """
    missing: list[pa.Array] = []
    found = apply_rules(artifact, _documents(artifact, source, facts, missing), (*rules, *comparing))
    for ids in missing:
        for rule in comparing:
            found.broken[rule].add(np.ones(len(ids), dtype=np.bool_), ids)
    return found


def _documents(
    artifact: Artifact, source: Artifact, facts: UpstreamFacts, missing: list[pa.Array]
) -> Iterator[EnrichedDocuments]:
    """Yield the documents in batches, each batch with its source.

    Ids that only the source has are appended to `missing`.
    """
    for budget in budgets_of(source):
        enriched_files, source_files = (
            {file.name: file for file in shards_of(each, budget, PARQUET_SUFFIX)} for each in (artifact, source)
        )
        for name in sorted(enriched_files.keys() | source_files.keys()):
            enriched = _Reader(enriched_files.get(name), budget, ENRICHED.names)
            tokens = _Reader(source_files.get(name), budget, _SOURCE_COLUMNS)
            for batch, source_batch in _paired(enriched, tokens, missing):
                yield EnrichedDocuments(batch, facts, budget, source_batch)


def _paired(
    enriched: _Reader, tokens: _Reader, missing: list[pa.Array]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield (enriched, token) batches of equal length. The files have row groups of different sizes, so each step takes
    as many documents as both readers have ready; when one file ends, as many as the other has.
    """
    while count := min(enriched.ready or tokens.ready, tokens.ready or enriched.ready):
        source = tokens.take(count, TOKENIZED)
        if enriched.ready:
            yield enriched.take(count, ENRICHED), source
        else:
            missing.append(source.column(c.DOC_ID))


class _Reader:
    """Reads the documents of a file in any number. After its end, or without a file, it returns documents of nulls."""

    def __init__(self, file: Path | None, budget: DocumentSet, columns: list[str]) -> None:
        self._columns = columns
        self._batches = file_batches(file, budget, columns) if file else iter(())
        self._batch: pa.RecordBatch | None = next(self._batches, None)

    @property
    def ready(self) -> int:
        """The number of documents that one `take` can return; 0 at the end of the file."""
        return self._batch.num_rows if self._batch is not None else 0

    def take(self, count: int, schema: pa.Schema) -> pa.RecordBatch:
        """Return the next `count` documents, at most `ready`; documents of nulls with `schema` after the end."""
        if self._batch is None:
            fields = [schema.field(name) for name in self._columns]
            return pa.RecordBatch.from_arrays([pa.nulls(count, field.type) for field in fields], self._columns)
        taken, rest = self._batch.slice(0, count), self._batch.slice(count)
        self._batch = rest if rest.num_rows else next(self._batches, None)
        return taken
