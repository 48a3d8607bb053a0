"""Opens a .bin/.idx pair strictly: every count is compared with the file sizes before anything is mapped.

The header must account for every byte of both files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import IndexCorrupt, closest_name
from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.megatron.pair.index_format import (
    HEADER_BYTES,
    LENGTH_DTYPE,
    MODE_DTYPE,
    NARROW_CODE,
    POINTER_DTYPE,
    TOKEN_CODE,
    IndexHeader,
)
from megacpp_assets.storage.artifact import Artifact

BLOCK = 1 << 20
"""The number of values that are processed at a time while a file is scanned."""


@dataclass(frozen=True, slots=True)
class BinIdx:
    """A mapped pair.

    Sequence i has `lengths[i]` values, starting at byte `pointers[i]` of the .bin. Document i has the sequences
    [boundaries[i], boundaries[i + 1]); the pairs of this project have one sequence per document. `modes` has
    one int8 per sequence of a multimodal pair, else it is None.
    """

    header: IndexHeader
    tokens: NDArray[Any]
    lengths: NDArray[np.int32]
    pointers: NDArray[np.int64]
    boundaries: NDArray[np.int64]
    modes: NDArray[np.int8] | None = None

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.boundaries) - 1

    @property
    def sequences(self) -> int:
        """Number of sequences."""
        return len(self.lengths)

    def sequence(self, index: int) -> NDArray[Any]:
        """Return the values of one sequence, as a view that keeps the file mapped."""
        return self.values(index, index + 1)

    def document(self, index: int) -> NDArray[Any]:
        """Return the values of all sequences of one document, as a view that keeps the file mapped."""
        return self.values(int(self.boundaries[index]), int(self.boundaries[index + 1]))

    def values(self, first: int, end: int) -> NDArray[Any]:
        """Return the values of the sequences [first, end), as one array."""
        width = self.header.dtype.itemsize
        stop = int(self.pointers[end - 1]) // width + int(self.lengths[end - 1])
        return self.tokens[int(self.pointers[first]) // width : stop]


def read_header(idx_path: Path) -> IndexHeader:
    """Return the header of an .idx file. Raises `IndexCorrupt` if the file is missing or is not an index."""
    with _require_file(idx_path).open("rb") as file:
        return IndexHeader.from_bytes(file.read(HEADER_BYTES), idx_path.name)


def open_pair(artifact: Artifact, name: str) -> BinIdx:
    """Open the pair `name` of a published artifact. Raises `LineageGap` if a file differs from the manifest."""
    bin_path, _ = artifact.file(name + BIN), artifact.file(name + IDX)
    return open_bin_idx(bin_path.with_name(name))


def open_bin_idx(prefix: Path, *, multimodal: bool = False) -> BinIdx:
    """Open `<prefix>.bin` and `<prefix>.idx` without a manifest. Only `open_pair` detects a changed token.

    A `multimodal` index has one mode per sequence. The file does not say so; the caller must know.

    Raises `IndexCorrupt` unless both files exist and are not empty, the index has the size that its header implies,
    documents cover all sequences in order with at least one each, sequences have at least one value, pointers are the
    running sum of lengths, and the lengths add up to the size of the .bin.
    """
    bin_path, idx_path = prefix.with_name(prefix.name + BIN), prefix.with_name(prefix.name + IDX)
    header = read_header(idx_path)
    size = header.index_bytes + header.sequences * multimodal
    _require(idx_path, "size in bytes", size, idx_path.stat().st_size)
    if header.sequences == 0 or header.boundaries < 2:
        found = f"{header.sequences} sequences, {max(0, header.boundaries - 1)} documents"
        raise IndexCorrupt(idx_path.name, expected="at least one document of one sequence", found=found)
    lengths = mapped(idx_path, LENGTH_DTYPE, header.sequences, HEADER_BYTES)
    pointers = mapped(idx_path, POINTER_DTYPE, header.sequences, HEADER_BYTES + lengths.nbytes)
    after = HEADER_BYTES + lengths.nbytes + pointers.nbytes
    boundaries = mapped(idx_path, POINTER_DTYPE, header.boundaries, after)
    total = _require_consistent(idx_path, header, lengths, pointers, boundaries)
    size = _require_file(bin_path).stat().st_size
    _require(bin_path, "size in bytes", total, size)
    modes = mapped(idx_path, MODE_DTYPE, header.sequences, header.index_bytes) if multimodal else None
    tokens = mapped(bin_path, header.dtype, total // header.dtype.itemsize)
    return BinIdx(header, tokens, lengths, pointers, boundaries, modes)


def open_counted(prefix: Path, sequences: int, boundaries: int) -> BinIdx:
    """Open a pair of token ids by known counts: no header is read and nothing is compared but the size of the .bin.

    The type follows from the size of the .bin: two bytes a token or four. `IndexCorrupt` for any other size.
    """
    bin_path, idx_path = prefix.with_name(prefix.name + BIN), prefix.with_name(prefix.name + IDX)
    lengths = mapped(idx_path, LENGTH_DTYPE, sequences, HEADER_BYTES)
    pointers = mapped(idx_path, POINTER_DTYPE, sequences, HEADER_BYTES + lengths.nbytes)
    bounds = mapped(idx_path, POINTER_DTYPE, boundaries, HEADER_BYTES + lengths.nbytes + pointers.nbytes)
    tokens, size = int(lengths.sum(dtype=np.int64)), bin_path.stat().st_size
    code = {2 * tokens: NARROW_CODE, 4 * tokens: TOKEN_CODE}.get(size)
    if code is None:
        raise IndexCorrupt(
            bin_path.name,
            expected=f"{tokens} tokens of two or four bytes",
            found=f"{size} bytes",
            do="write the counts again with megacpp cache --sequences",
        )
    header = IndexHeader(code, sequences, boundaries)
    return BinIdx(header, mapped(bin_path, header.dtype, tokens), lengths, pointers, bounds)


def token_starts(pair: BinIdx, row_starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first token of each packed row, and the number of tokens at the end: shape (rows + 1,) int64.

    `row_starts` (rows + 1,) has the first sequence of each row, and the number of sequences.
    """
    ends = np.cumsum(pair.lengths, dtype=np.int64)
    return np.concatenate([np.zeros(1, np.int64), ends[row_starts[1:] - 1]])


def mapped(path: Path, dtype: np.dtype[Any], count: int, offset: int = 0) -> NDArray[Any]:
    """Map `count` values of the file at `path`, read-only.

    The result is a plain array: slicing it costs a tenth of slicing a `memmap`.
    """
    return np.asarray(np.memmap(path, dtype, "r", offset, (count,)) if count else np.empty(0, dtype))


def blocks(count: int, most: int = 0) -> Iterator[slice]:
    """Slices of at most `most` values (0: `BLOCK`) that cover `count` values."""
    size = most or BLOCK
    return (slice(first, min(count, first + size)) for first in range(0, count, size))


def _require_consistent(
    idx_path: Path,
    header: IndexHeader,
    lengths: NDArray[np.int32],
    pointers: NDArray[np.int64],
    boundaries: NDArray[np.int64],
) -> int:
    """Return the expected size of the .bin in bytes.

    Raises `IndexCorrupt` if the arrays of the index contradict each other.
    """
    position = 0
    for part in blocks(header.sequences):
        sizes = lengths[part].astype(np.int64) * header.dtype.itemsize
        _require_all(idx_path, "length", sizes > 0, part.start, "at least one token")
        ends = position + np.cumsum(sizes)
        _require_all(idx_path, "pointer", pointers[part] == ends - sizes, part.start, "the sum of lengths before it")
        position = int(ends[-1])
    outer = (int(boundaries[0]), int(boundaries[-1]))
    _require(idx_path, "first and last document boundary", (0, header.sequences), outer)
    for part in blocks(header.boundaries - 1):
        steps = np.diff(boundaries[part.start : part.stop + 1])
        _require_all(
            idx_path, "document", steps > 0, part.start, "at least one sequence, after those of the document before"
        )
    return position


def _require_file(path: Path) -> Path:
    if not path.is_file():
        close = closest_name(path.stem, [each.stem for each in path.parent.glob(f"*{path.suffix}")])
        do = f"name a pair by its path without {BIN} or {IDX}; if a run made it, rerun megatron_bin_idx"
        raise IndexCorrupt(str(path), closest=close, expected="a file of a pair", found="no such file", do=do)
    if path.stat().st_size == 0:
        raise IndexCorrupt(
            str(path), expected="a file that is not empty", found="an empty file", do="rerun megatron_bin_idx"
        )
    return path


def _require(path: Path, what: str, expected: object, found: object) -> None:
    if expected != found:
        raise IndexCorrupt(f"{path.name}, {what}", expected=expected, found=found, do="rerun megatron_bin_idx")


def _require_all(path: Path, what: str, holds: NDArray[np.bool_], first: int, expected: str) -> None:
    if not holds.all():
        raise IndexCorrupt(
            f"{path.name}, {what} {first + int(np.argmin(holds))}",
            expected=expected,
            found="a value that breaks the rule",
            do="rerun megatron_bin_idx",
        )
