"""Writes a .bin/.idx pair as a stream: tokens go directly to the .bin, lengths to an unnamed temporary file.

Memory does not grow with the number of documents.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation, SpecError
from megacpp_assets.megatron.pair.index_format import (
    CODES,
    LENGTH_DTYPE,
    MODE_DTYPE,
    POINTER_DTYPE,
    TOKEN_CODE,
    IndexHeader,
)

_BLOCK = 1 << 18
"""The number of sequences that are processed at a time while the index is written."""


@dataclass(frozen=True, slots=True)
class _Files:
    """Open files. `boundaries` has the end of each document in sequences; `modes` is None unless multimodal."""

    tokens: BinaryIO
    lengths: BinaryIO
    boundaries: BinaryIO
    modes: BinaryIO | None


class BinIdxWriter:
    """Appends documents to a pair. `open_writer` creates it."""

    def __init__(self, files: _Files, vocabulary_size: int | None, code: int) -> None:
        self.documents = 0
        self.sequences = 0
        self.tokens = 0
        self.dtype = np.dtype(CODES[code])
        self._files = files
        self._vocabulary_size = vocabulary_size

    def append(
        self,
        tokens: NDArray[Any],
        lengths: NDArray[np.int32],
        modes: NDArray[np.int8] | None = None,
        sequences_per_document: NDArray[np.int64] | None = None,
    ) -> None:
        """Append documents.

        Args:
            tokens: the values of all sequences, one after the other, shape (tokens,).
            lengths: the number of values of each sequence, shape (sequences,).
            modes: one mode per sequence of a multimodal pair, else None.
            sequences_per_document: shape (documents,); None if each sequence is a document.

        Raises:
            SchemaViolation: a sequence has no values, a document has no sequences, counts do not add up, an id is not
                below the vocabulary size, or modes are missing or unexpected. Nothing is written then.
        """
        per_document = np.ones(len(lengths), np.int64) if sequences_per_document is None else sequences_per_document
        self._require_valid(tokens, lengths, modes, per_document)
        self._files.tokens.write(np.ascontiguousarray(tokens, dtype=self.dtype).data)
        self._files.lengths.write(np.ascontiguousarray(lengths, dtype=LENGTH_DTYPE).data)
        ends = self.sequences + np.cumsum(per_document, dtype=POINTER_DTYPE)
        self._files.boundaries.write(ends.data)
        if self._files.modes is not None and modes is not None:
            self._files.modes.write(np.ascontiguousarray(modes, dtype=MODE_DTYPE).data)
        self.documents += len(per_document)
        self.sequences += len(lengths)
        self.tokens += len(tokens)

    def _require_valid(
        self,
        tokens: NDArray[Any],
        lengths: NDArray[np.int32],
        modes: NDArray[np.int8] | None,
        per_document: NDArray[np.int64],
    ) -> None:
        if len(lengths) and int(lengths.min()) < 1:
            raise SchemaViolation("sequence", expected="at least one token", found=int(lengths.min()))
        if int(lengths.sum(dtype=np.int64)) != len(tokens):
            raise SchemaViolation("sequence lengths", expected=f"{len(tokens)} tokens", found=int(lengths.sum()))
        if len(per_document) and int(per_document.min()) < 1:
            raise SchemaViolation("document", expected="at least one sequence", found=int(per_document.min()))
        if int(per_document.sum()) != len(lengths):
            found = int(per_document.sum())
            raise SchemaViolation("sequences of documents", expected=f"{len(lengths)} sequences", found=found)
        size = self._vocabulary_size
        if size is not None and len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < size:
            found_ids = f"{tokens.min()} to {tokens.max()}"
            raise SchemaViolation("token id", expected=f"ids from 0 to {size - 1}", found=found_ids)
        expected = 0 if self._files.modes is None else len(lengths)
        if (0 if modes is None else len(modes)) != expected:
            raise SchemaViolation("modes", expected=expected, found=0 if modes is None else len(modes))


@contextmanager
def open_writer(
    bin_path: Path, idx_path: Path, vocabulary_size: int | None, *, code: int = TOKEN_CODE, multimodal: bool = False
) -> Iterator[BinIdxWriter]:
    """Open a writer of a pair with values of type `code`. The .idx is written when the `with` block ends without error.

    A `vocabulary_size` of None means that the values are not token ids and are not compared with a vocabulary. Raises
    `SpecError` if the type is too narrow for the vocabulary.
    """
    if vocabulary_size is not None:
        _require_wide_enough(vocabulary_size, code)
    with ExitStack() as stack:
        tokens = stack.enter_context(bin_path.open("wb"))
        lengths, boundaries, modes = (
            stack.enter_context(tempfile.TemporaryFile(dir=idx_path.parent)) for _ in range(3)
        )
        writer = BinIdxWriter(_Files(tokens, lengths, boundaries, modes if multimodal else None), vocabulary_size, code)
        yield writer
        index = stack.enter_context(idx_path.open("wb"))
        index.write(IndexHeader(code, writer.sequences, writer.documents + 1).to_bytes())
        for block in _blocks(lengths):
            index.write(block.data)
        _write_pointers(index, lengths, writer.dtype.itemsize)
        index.write(np.zeros(1, POINTER_DTYPE).data)
        for file in (boundaries, modes):
            file.seek(0)
            shutil.copyfileobj(file, index)


def _require_wide_enough(vocabulary_size: int, code: int) -> None:
    dtype = np.dtype(CODES[code])
    most_ids = np.iinfo(dtype).max + 1 if dtype.kind != "f" else 0
    if vocabulary_size > most_ids:
        do = "write four bytes per token"
        raise SpecError("vocabulary", expected=f"at most {most_ids} ids in {CODES[code]}", found=vocabulary_size, do=do)


def _write_pointers(index: BinaryIO, lengths: BinaryIO, width: int) -> None:
    position = 0
    for block in _blocks(lengths):
        ends = position + np.cumsum(block, dtype=POINTER_DTYPE) * width
        index.write((ends - block.astype(POINTER_DTYPE) * width).data)
        position = int(ends[-1])


def _blocks(lengths: BinaryIO) -> Iterator[NDArray[np.int32]]:
    lengths.seek(0)
    while data := lengths.read(_BLOCK * LENGTH_DTYPE.itemsize):
        yield np.frombuffer(data, dtype=LENGTH_DTYPE)
