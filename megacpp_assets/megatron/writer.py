"""Writing a .bin/.idx pair as a stream: tokens go straight to the .bin, lengths to an unnamed temporary file.

Memory does not grow with the number of documents. Each document is one sequence.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation, SpecError
from megacpp_assets.megatron.index_format import (
    CODES,
    LENGTH_DTYPE,
    MODE_DTYPE,
    POINTER_DTYPE,
    TOKEN_CODE,
    IndexHeader,
)

_BLOCK = 1 << 18
"""Sequences handled at a time while the index is written."""


class BinIdxWriter:
    """Appends documents; made by `open_writer`."""

    def __init__(
        self, tokens: BinaryIO, lengths: BinaryIO, modes: BinaryIO | None, vocabulary_size: int, code: int
    ) -> None:
        self.documents = 0
        self.tokens = 0
        self.dtype = np.dtype(CODES[code])
        self._token_file, self._length_file, self._mode_file = tokens, lengths, modes
        self._vocabulary_size = vocabulary_size

    def append(self, tokens: NDArray[Any], lengths: NDArray[np.int32], modes: NDArray[np.int8] | None = None) -> None:
        """Append documents that lie end to end in `tokens`, `lengths` tokens each; `modes` of a multimodal pair.

        `SchemaViolation`, with nothing written, for a document without tokens, lengths that do not add up, an id that
        is not below the vocabulary size, or modes where there are none or none where there are.
        """
        if len(lengths) and int(lengths.min()) < 1:
            raise SchemaViolation("document", expected="at least one token", found=int(lengths.min()))
        if int(lengths.sum(dtype=np.int64)) != len(tokens):
            raise SchemaViolation("document lengths", expected=f"{len(tokens)} tokens", found=int(lengths.sum()))
        if len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < self._vocabulary_size:
            found = f"{tokens.min()} to {tokens.max()}"
            raise SchemaViolation("token id", expected=f"0, or more, and below {self._vocabulary_size}", found=found)
        expected = 0 if self._mode_file is None else len(lengths)
        if (0 if modes is None else len(modes)) != expected:
            raise SchemaViolation("modes", expected=expected, found=0 if modes is None else len(modes))
        self._token_file.write(np.ascontiguousarray(tokens, dtype=self.dtype).data)
        self._length_file.write(np.ascontiguousarray(lengths, dtype=LENGTH_DTYPE).data)
        if self._mode_file is not None and modes is not None:
            self._mode_file.write(np.ascontiguousarray(modes, dtype=MODE_DTYPE).data)
        self.documents += len(lengths)
        self.tokens += len(tokens)


@contextmanager
def open_writer(
    bin_path: Path, idx_path: Path, vocabulary_size: int, *, code: int = TOKEN_CODE, multimodal: bool = False
) -> Iterator[BinIdxWriter]:
    """Write a pair of tokens of `code`; the .idx is complete when the block ends without an error.

    `SpecError` for a vocabulary that the code has no room for.
    """
    room = np.iinfo(CODES[code]).max + 1
    if vocabulary_size > room:
        do = "write four bytes a token"
        raise SpecError("vocabulary", expected=f"at most {room} ids in {CODES[code]}", found=vocabulary_size, do=do)
    with ExitStack() as stack:
        tokens = stack.enter_context(bin_path.open("wb"))
        lengths, modes = (stack.enter_context(tempfile.TemporaryFile(dir=idx_path.parent)) for _ in range(2))
        writer = BinIdxWriter(tokens, lengths, modes if multimodal else None, vocabulary_size, code)
        yield writer
        index = stack.enter_context(idx_path.open("wb"))
        index.write(IndexHeader(code, writer.documents, writer.documents + 1).to_bytes())
        for block in _blocks(lengths):
            index.write(block.data)
        _write_pointers(index, lengths, writer.dtype.itemsize)
        for first in range(0, writer.documents + 1, _BLOCK):
            end = min(writer.documents + 1, first + _BLOCK)
            index.write(np.arange(first, end, dtype=POINTER_DTYPE).data)
        modes.seek(0)
        shutil.copyfileobj(modes, index)


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
