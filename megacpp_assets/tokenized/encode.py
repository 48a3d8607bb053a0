"""Token columns for documents: ids and character spans from the encoder, and the exact limit by splitting.

Documents in, tokenized documents out in the same order; no document has more than the limit of tokens, BOS included,
or of chunks, and the pieces of a document that had more join to exactly its text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import TOKENIZED
from megacpp_assets.contract.tokens.encoding import EncodedLists, TextEncoder
from megacpp_assets.tokenized.pieces import cut_document
from megacpp_assets.tokenized.split import DocumentLimits, cut_points


@dataclass(frozen=True, slots=True)
class TokenizedBatch:
    """Encoded documents. `table` has the tokenized schema; `pieces[i]` is the number of its rows from document i."""

    table: pa.Table
    pieces: NDArray[np.int64]


def tokenize(documents: pa.Table, encoder: TextEncoder, limits: DocumentLimits) -> TokenizedBatch:
    """Encode a table of `records.DOCUMENTS` and split every document that exceeds `limits`.

    Raises `SchemaViolation` if the encoder gives no usable spans.
    """
    encoded = encoder.encode_arrow(documents[c.TEXT])
    table = with_tokens(documents, encoded)
    counts = encoded.ids.value_lengths().to_numpy()
    pieces = np.ones(documents.num_rows, dtype=np.int64)
    parts: list[pa.Table] = []
    done = 0
    chunks = documents[c.CHUNK_BOUNDARIES].combine_chunks().value_lengths().to_numpy()
    for index in np.flatnonzero((counts > limits.tokens) | (chunks > limits.chunks)).tolist():
        document = documents.slice(index, 1)
        text, starts = documents[c.TEXT][index].as_py(), encoded.char_starts[index].values.to_numpy()
        cuts = cut_points(text, _chunk_spans(document), starts[1:], encoder, limits)
        split = cut_document(document, cuts)
        parts += [table.slice(done, index - done), with_tokens(split, encoder.encode_arrow(split[c.TEXT]))]
        pieces[index] = split.num_rows
        done = index + 1
    return TokenizedBatch(pa.concat_tables([*parts, table.slice(done)]), pieces)


def with_tokens(documents: pa.Table, encoded: EncodedLists) -> pa.Table:
    """Return `documents` with the token columns of `encoded`, in the order of the tokenized schema."""
    counts = encoded.ids.value_lengths()
    spans = (encoded.char_starts, encoded.char_ends)
    if len(counts) != documents.num_rows or any(not lists.value_lengths().equals(counts) for lists in spans):
        raise SchemaViolation(
            "encoder without spans", expected="an id, a start and an end for every token", found="other lengths"
        )
    columns = {
        c.TOKEN_IDS_COLUMN: encoded.ids,
        c.TOKEN_CHAR_STARTS: encoded.char_starts,
        c.TOKEN_CHAR_ENDS: encoded.char_ends,
        c.ACTUAL_TOKEN_COUNT: counts,
    }
    arrays = [columns[name] if name in columns else documents[name] for name in TOKENIZED.names]
    return pa.Table.from_arrays(arrays, schema=TOKENIZED)


def _chunk_spans(document: pa.Table) -> NDArray[np.int64]:
    chunks = document[c.CHUNK_BOUNDARIES].combine_chunks().flatten()
    starts, ends = (chunks.field(name).to_numpy(zero_copy_only=False) for name in ("char_offset", "char_end"))
    return np.stack([starts, ends], axis=1).astype(np.int64)
