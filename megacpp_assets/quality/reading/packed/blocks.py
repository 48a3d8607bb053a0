"""A block of packed rows for their checks: columns, lists, and the documents that its rows contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.tokens.specials import FIM_MARKS
from megacpp_assets.packed.spools.fim import restored_order
from megacpp_assets.quality.reading.fingerprints import fingerprints, text_keys
from megacpp_assets.storage.ragged import Ragged, list_lengths, offsets_from, tolerant


class SplitRows:
    """Consecutive rows of one split.

    Rows with a token column that is not `width` long, or that has nulls, are only counted, in `uneven`. All columns and
    rules see the other rows. `names` has the keys of the documents of all rows, and `valid_tokens` is their sum of
    tokens.
    """

    def __init__(self, batch: pa.RecordBatch, first: int, width: int) -> None:
        """Wrap the rows of `batch`; `first` rows of the split come before them."""
        even = _even(batch, width)
        self.width = width
        self.uneven = int(batch.num_rows - even.sum())
        self.numbers = np.arange(first, first + batch.num_rows)[even]
        self.names = _names(batch)
        self.valid_tokens = int(pc.sum(batch.column(c.VALID_TOKEN_COUNT)).as_py() or 0)
        self._first, self._all = first, batch
        self._batch = batch.filter(pa.array(even)) if self.uneven else batch
        self._tokens: dict[str, NDArray[Any]] = {}

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def first_row(self, rule: Callable[[SplitRows], int]) -> int:
        """Return the number, within the split, of the first row that breaks `rule` if it is checked as a block of one
        row.
        """
        one_row_blocks = (
            SplitRows(self._all.take(pa.array([row])), self._first + row, self.width)
            for row in range(self._all.num_rows)
        )
        return self._first + next((row for row, block in enumerate(one_row_blocks) if rule(block)), 0)

    def name_of(self, key: np.uint64) -> str:
        """Return text with id, repository and row of the first document that has this key."""
        batch = self._all if len(self.names) else self._batch
        place = int(np.flatnonzero(_names(batch) == key)[0])
        repos, doc_ids = batch.column(c.SOURCE_REPOS), batch.column(c.SOURCE_DOC_IDS)
        row = self._first + pc.list_parent_indices(repos)[place].as_py()
        return f"document {doc_ids.flatten()[place]} of {repos.flatten()[place]}, row {row}"

    def number(self, name: str) -> NDArray[np.int64]:
        """Return an integer column, one value per row; -1 for a missing value."""
        return np.asarray(self._batch.column(name).fill_null(-1).to_numpy().astype(np.int64))

    def tokens(self, name: str) -> NDArray[Any]:
        """Return a token column, of shape (rows, width)."""
        if name not in self._tokens:
            values = self._batch.column(name).flatten().to_numpy()
            self._tokens[name] = values.reshape(self.rows, self.width)
        return self._tokens[name]

    def lists(self, name: str) -> Ragged:
        """Return a column of integer lists of any length; a missing list is empty."""
        return tolerant(self._batch.column(name))

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Return the length of each row's list `name`."""
        return list_lengths(self._batch.column(name))

    def nulls(self, name: str) -> int:
        """Return the number of missing values in a list column."""
        return int(self._batch.column(name).flatten().null_count)

    def edges(self, name: str) -> Ragged:
        """Return the larger end of each edge of an edge column: if it is in range, both ends are.

        A missing end is 65535.
        """
        column = self._batch.column(name)
        ends = column.flatten()
        values = np.maximum(*(ends.field(end).fill_null(0xFFFF).to_numpy() for end in ("from", "to")))
        return Ragged(offsets_from(list_lengths(column)), values)

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """Mask of shape (rows, width): True for a token of a document, False for padding."""
        return np.arange(self.width) < self.number(c.VALID_TOKEN_COUNT)[:, None]

    @cached_property
    def marks(self) -> int:
        """The number of marks that fill-in-the-middle added."""
        return int(np.isin(self.tokens(c.INPUT_IDS), FIM_MARKS).sum())

    @cached_property
    def padding(self) -> NDArray[np.int64]:
        """The flat positions of padding within a token column."""
        return np.flatnonzero(~self.valid)

    def documents(self) -> BlockDocuments:
        """Return keys and fingerprints of the documents that the rows list, cut at the listed lengths.

        Empty if the lists of a row disagree in length; another check reports that.
        """
        lengths, keys = self.lists(c.SOURCE_DOC_TOKEN_LENGTHS), _names(self._batch)
        platforms = self.lists(c.SOURCE_PLATFORM_IDS)
        uneven = (platforms.lengths != MAX_PLATFORM_IDS * lengths.lengths).any()
        if uneven or (lengths.lengths != self.lengths(c.SOURCE_DOC_IDS)).any() or len(keys) != len(lengths.values):
            return BlockDocuments(keys[:0], keys[:0])  # the check `counts_agree` reports these rows
        sizes = np.maximum(lengths.values, 0).astype(np.int64)
        running = np.cumsum(sizes)
        # Tokens of earlier documents are counted over the whole block; subtracting those of earlier rows gives the
        # offset within the row.
        before_row = np.concatenate([[0], running])[lengths.offsets[:-1]]
        row_start = lengths.repeat(np.arange(self.rows) * self.width)
        starts = row_start + running - sizes - lengths.repeat(before_row)
        # The check `counts_agree` reports a length that is too large for its row. Here it is cut at the row's end.
        starts, ends = (np.minimum(places, row_start + self.width) for places in (starts, starts + sizes))
        columns = [self.tokens(name).reshape(-1) for name in (c.INPUT_IDS, *c.TOKEN_METADATA_COLUMNS)]
        if self.marks:
            columns, starts, ends = _restored(columns, starts, ends)
        prints = fingerprints(columns, starts, ends) ^ platform_prints(platforms.values.reshape(-1, MAX_PLATFORM_IDS))
        return BlockDocuments(keys, prints)


def _restored(
    columns: list[NDArray[Any]], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[list[NDArray[Any]], NDArray[np.int64], NDArray[np.int64]]:
    """Return columns in which each document has its original token order, and the documents' starts and ends in them.

    Fill-in-the-middle rearranged some documents of rows and added marks. Their sources are not rearranged, so the
    original order is restored before fingerprints are compared.
    """
    places = [np.zeros(0, dtype=np.int64)]
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        order = restored_order(columns[0][start:end])
        places.append(start + (np.arange(end - start) if order is None else order))
    offsets = offsets_from(np.array([len(each) for each in places[1:]], dtype=np.int64))
    joined = np.concatenate(places)
    return [column[joined] for column in columns], offsets[:-1], offsets[1:]


def _even(batch: pa.RecordBatch, width: int) -> NDArray[np.bool_]:
    """Return rows whose token columns are all `width` long and without nulls."""
    even = np.ones(batch.num_rows, dtype=np.bool_)
    for name in c.PACKED_ROWS_TOKEN_ALIGNED_COLUMNS:
        column = batch.column(name)
        even &= list_lengths(column) == width
        if column.values.null_count:
            even[pc.list_parent_indices(column).to_numpy()[column.flatten().is_null().to_numpy(False)]] = False
    return even


@dataclass(frozen=True, slots=True)
class BlockDocuments:
    """For each document a key of its strings, and a fingerprint of its tokens, metadata and platforms."""

    keys: NDArray[np.uint64]
    prints: NDArray[np.uint64]


def platform_prints(platforms: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a 64-bit fingerprint of the platforms of each document; `platforms` has shape (documents,
    MAX_PLATFORM_IDS).

    The caller combines it with the fingerprint of the tokens by exclusive or.
    """
    starts = np.arange(len(platforms)) * platforms.shape[1]
    return fingerprints([platforms.reshape(-1)], starts, starts + platforms.shape[1])


def keys_of(columns: Iterable[pa.Array]) -> NDArray[np.uint64]:
    """Return a 64-bit key for the strings of each document, from the columns `CARRIED`, in their order.

    Two documents that differ in one of them have the same key with probability 2**-64.
    """
    multiplier = np.uint64(0x9E3779B97F4A7C15)
    return reduce(lambda keys, column: keys * multiplier + text_keys(column), columns, np.zeros(1, dtype=np.uint64))


def _names(batch: pa.RecordBatch) -> NDArray[np.uint64]:
    """Return keys of the documents that rows list; empty if a row's lists of strings differ in length."""
    first, *others = (batch.column(name) for name in c.CARRIED.values())
    lengths = pc.list_value_length(first)
    if not all(pc.list_value_length(other).equals(lengths) for other in others):
        return np.empty(0, dtype=np.uint64)
    return keys_of(column.flatten() for column in (first, *others))
