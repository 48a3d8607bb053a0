"""Writes tokenized documents to parquet: training shards with a fixed number of documents, and a validation shard.

Rows keep their order within a file; both kinds of file are there even if they have no rows.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import pairwise
from types import TracebackType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.columns import VAL_SHARD, of_budget, parquet_shard
from megacpp_assets.contract.document_sets import DocumentSet, tokens_of
from megacpp_assets.contract.names import documents_at_once
from megacpp_assets.contract.schemas import ROW_GROUP_ROWS, SHARD_DOCUMENTS, TOKENIZED
from megacpp_assets.storage.parquet import RowGroupWriter
from megacpp_assets.storage.publish import Publication


class ShardWriter:
    """The data files of one budget. At most two are open: the current training shard and the validation shard."""

    def __init__(self, publication: Publication, budget: DocumentSet, shard_documents: int = SHARD_DOCUMENTS) -> None:
        self._publication = publication
        self._budget = budget
        self._shard_documents = shard_documents
        self._shards = 0

    def __enter__(self) -> ShardWriter:
        self._validation = self._open(VAL_SHARD)
        self._train = self._next_shard()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._train.close(kind, error, trace)
        self._validation.close(kind, error, trace)

    def write(self, table: pa.Table, validation: NDArray[np.bool_]) -> None:
        """Append each row of `table` to the validation shard if `validation` is set for it, else to training."""
        # Documents come sorted by side, so there are few stretches, and a slice copies nothing.
        ends = [*(np.flatnonzero(np.diff(validation)) + 1).tolist(), len(validation)]
        for start, end in pairwise([0, *ends]):
            rows = table.slice(start, end - start)
            if rows.num_rows and validation[start]:
                self._validation.writer.write(rows)
            else:
                self._train_on(rows)

    def _train_on(self, rows: pa.Table) -> None:
        while rows.num_rows:
            room = self._shard_documents - self._train.writer.rows
            if room == 0:
                self._train.close(None, None, None)
                self._train = self._next_shard()
                continue
            self._train.writer.write(rows.slice(0, room))
            rows = rows.slice(room)

    def _next_shard(self) -> _ShardFile:
        self._shards += 1
        return self._open(parquet_shard(self._shards - 1))

    def _open(self, name: str) -> _ShardFile:
        return _ShardFile(self._publication, self._budget, name)


class _ShardFile:
    """A data file that is being written. It is named and hashed when it is closed without an error."""

    def __init__(self, publication: Publication, budget: DocumentSet, name: str) -> None:
        rows = documents_at_once(ROW_GROUP_ROWS, tokens_of(budget))
        self._stack = ExitStack()
        self._pending = self._stack.enter_context(publication.file(of_budget(budget, name)))
        writer = RowGroupWriter(self._pending.path, TOKENIZED, group_rows=rows)
        self.writer = self._stack.enter_context(writer)

    def close(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pending.rows = self.writer.rows
        self._stack.__exit__(kind, error, trace)
