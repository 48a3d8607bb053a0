"""Writing a .bin/.idx pair as a stream: tokens go straight to the .bin, lengths to an unnamed temporary file.

Memory does not grow with the number of documents. Each document is one sequence.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.megatron.index_format import (
    LENGTH_DTYPE,
    POINTER_DTYPE,
    TOKEN_CODE,
    TOKEN_DTYPE,
    IndexHeader,
)

_BLOCK = 1 << 18
"""Sequences handled at a time while the index is written."""


class BinIdxWriter:
    """Appends documents; made by `open_writer`."""

    def __init__(self, tokens: BinaryIO, lengths: BinaryIO, vocabulary_size: int) -> None:
        self.documents = 0
        self.tokens = 0
        self._token_file = tokens
        self._length_file = lengths
        self._vocabulary_size = vocabulary_size

    def append(self, tokens: NDArray[np.uint32], lengths: NDArray[np.int32]) -> None:
        """Append documents that lie end to end in `tokens`, `lengths` tokens each.

        `SchemaViolation`, with nothing written, for a document without tokens, lengths that do not add up, or an id
        that is not below the vocabulary size.
        """
        if len(lengths) and int(lengths.min()) < 1:
            raise SchemaViolation("document", expected="at least one token", found=int(lengths.min()))
        if int(lengths.sum(dtype=np.int64)) != len(tokens):
            raise SchemaViolation("document lengths", expected=f"{len(tokens)} tokens", found=int(lengths.sum()))
        if len(tokens) and int(tokens.max()) >= self._vocabulary_size:
            raise SchemaViolation("token id", expected=f"below {self._vocabulary_size}", found=int(tokens.max()))
        self._token_file.write(np.ascontiguousarray(tokens, dtype=TOKEN_DTYPE).data)
        self._length_file.write(np.ascontiguousarray(lengths, dtype=LENGTH_DTYPE).data)
        self.documents += len(lengths)
        self.tokens += len(tokens)


@contextmanager
def open_writer(bin_path: Path, idx_path: Path, vocabulary_size: int) -> Iterator[BinIdxWriter]:
    """Write a pair; the .idx is complete when the block ends without an error."""
    with bin_path.open("wb") as tokens, tempfile.TemporaryFile(dir=idx_path.parent) as lengths:
        writer = BinIdxWriter(tokens, lengths, vocabulary_size)
        yield writer
        with idx_path.open("wb") as index:
            index.write(IndexHeader(TOKEN_CODE, writer.documents, writer.documents + 1).to_bytes())
            for block in _blocks(lengths):
                index.write(block.data)
            _write_pointers(index, lengths)
            for first in range(0, writer.documents + 1, _BLOCK):
                end = min(writer.documents + 1, first + _BLOCK)
                index.write(np.arange(first, end, dtype=POINTER_DTYPE).data)


def _write_pointers(index: BinaryIO, lengths: BinaryIO) -> None:
    position = 0
    for block in _blocks(lengths):
        ends = position + np.cumsum(block, dtype=POINTER_DTYPE) * TOKEN_DTYPE.itemsize
        index.write((ends - block.astype(POINTER_DTYPE) * TOKEN_DTYPE.itemsize).data)
        position = int(ends[-1])


def _blocks(lengths: BinaryIO) -> Iterator[NDArray[np.int32]]:
    lengths.seek(0)
    while data := lengths.read(_BLOCK * LENGTH_DTYPE.itemsize):
        yield np.frombuffer(data, dtype=LENGTH_DTYPE)
