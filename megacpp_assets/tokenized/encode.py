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
from megacpp_assets.contract.encoding import Encoded, TextEncoder
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import TOKENIZED
from megacpp_assets.tokenized.pieces import cut_document
from megacpp_assets.tokenized.split import Limits, cut_points


@dataclass(frozen=True, slots=True)
class TokenizedBatch:
    """`table` has the tokenized schema; `pieces[i]` is how many rows of it document `i` of the batch became."""

    table: pa.Table
    pieces: NDArray[np.int64]


def tokenize(documents: pa.Table, encoder: TextEncoder, limits: Limits) -> TokenizedBatch:
    """Encode a table of `records.DOCUMENTS`, splitting every document that exceeds `limits`.

    Raises `SchemaViolation` if the encoder gives no usable spans.
    """
    texts = documents[c.TEXT].to_pylist()
    encoded = encoder.encode_batch(texts)
    table = with_tokens(documents, encoded)
    counts = np.diff(encoded.offsets)
    pieces = np.ones(len(texts), dtype=np.int64)
    parts: list[pa.Table] = []
    done = 0
    chunks = documents[c.CHUNK_BOUNDARIES].combine_chunks().value_lengths().to_numpy()
    for index in np.flatnonzero((counts > limits.tokens) | (chunks > limits.chunks)).tolist():
        document = documents.slice(index, 1)
        begin, end = encoded.offsets[index], encoded.offsets[index + 1]
        cuts = cut_points(texts[index], _chunk_spans(document), encoded.char_starts[begin + 1 : end], encoder, limits)
        split = cut_document(document, cuts)
        parts += [table.slice(done, index - done), with_tokens(split, encoder.encode_batch(split[c.TEXT].to_pylist()))]
        pieces[index] = split.num_rows
        done = index + 1
    return TokenizedBatch(pa.concat_tables([*parts, table.slice(done)]), pieces)


def with_tokens(documents: pa.Table, encoded: Encoded) -> pa.Table:
    """`documents` with the token columns of `encoded`, in the order of the tokenized schema."""
    if len(encoded.offsets) != documents.num_rows + 1 or not (
        len(encoded.ids) == len(encoded.char_starts) == len(encoded.char_ends) == encoded.offsets[-1]
    ):
        raise SchemaViolation(
            "encoder without spans", expected="an id, a start and an end for every token", found="other lengths"
        )
    offsets = pa.array(encoded.offsets.astype(np.int32))
    columns = {
        c.TOKEN_IDS_COLUMN: pa.ListArray.from_arrays(offsets, pa.array(encoded.ids)),
        c.TOKEN_CHAR_STARTS: pa.ListArray.from_arrays(offsets, pa.array(encoded.char_starts)),
        c.TOKEN_CHAR_ENDS: pa.ListArray.from_arrays(offsets, pa.array(encoded.char_ends)),
        c.ACTUAL_TOKEN_COUNT: pa.array(np.diff(encoded.offsets).astype(np.int32)),
    }
    arrays = [columns[name] if name in columns else documents[name] for name in TOKENIZED.names]
    return pa.Table.from_arrays(arrays, schema=TOKENIZED)


def _chunk_spans(document: pa.Table) -> NDArray[np.int64]:
    chunks = document[c.CHUNK_BOUNDARIES].combine_chunks().flatten()
    starts, ends = (chunks.field(name).to_numpy(zero_copy_only=False) for name in ("char_offset", "char_end"))
    return np.stack([starts, ends], axis=1).astype(np.int64)
