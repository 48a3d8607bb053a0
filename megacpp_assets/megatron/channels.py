"""Channels beside a prefix: one value per token, or runs of equal values where these are fewer bytes.

As values, `<prefix>.<channel>.bin` has a value for each token of the `.bin`, in its order. As runs it has, end to end:
rows + 1 int64, the first run of each row and last the number of runs; for each run its tokens less one; for each run
its value. A run never leaves its row, so any row is read by itself. Values are of the narrowest type that holds all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.megatron import _rows
from megacpp_assets.megatron.index_format import ROW_DTYPE
from megacpp_assets.megatron.reader import blocks, mapped

_LENGTH: Final = np.dtype("<u4")
_ALL_BITS: Final = 0xFFFFFFFF
_AT_ONCE: Final = 1 << 18
"""Runs handled at a time while a channel is written or verified."""


def run_dtype(row_tokens: int) -> np.dtype[Any]:
    """The type of a run's tokens less one in rows of `row_tokens` tokens."""
    return np.dtype("<u2" if row_tokens <= 1 << 16 else "<u4")


class Channel(Protocol):
    """The values of one channel, of rows in any order or of many that follow one another."""

    def into(self, out: NDArray[Any], rows: NDArray[np.int64], starts: NDArray[np.int64], fill: int) -> None:
        """Write the values of `rows` into the lines of `out`, (B, T) of four bytes, and `fill` behind them. Row r has
        the tokens starts[r] to starts[r + 1] of the `.bin`; `IndexError` for no row, `IndexCorrupt` where its values
        are of others."""

    def stretch(self, first: int, bounds: NDArray[np.int64]) -> NDArray[Any]:
        """The values of the rows from `first` on, end to end; row i of them has tokens bounds[i] to bounds[i + 1]."""


@dataclass(frozen=True, slots=True)
class Values:
    """A channel as values, one per token."""

    values: NDArray[Any]

    def into(self, out: NDArray[Any], rows: NDArray[np.int64], starts: NDArray[np.int64], fill: int) -> None:
        """Write the values of `rows` into the lines of `out`; see `Channel`."""
        wrong = _rows.values(self.values, starts, rows, fill & _ALL_BITS, out.view(np.uint32))
        if wrong >= 0:
            raise _broken("values", _tokens_of(rows[wrong], starts), f"{len(self.values)} in all")

    def stretch(self, first: int, bounds: NDArray[np.int64]) -> NDArray[Any]:
        """The values of the rows from `first` on, end to end; row i of them has tokens bounds[i] to bounds[i + 1]."""
        del first
        return np.asarray(self.values[bounds[0] : bounds[-1]])


@dataclass(frozen=True, slots=True)
class Runs:
    """A channel as runs: row r has the runs [rows[r], rows[r + 1]), each of lengths + 1 tokens of one of `values`."""

    name: str
    rows: NDArray[np.int64]
    lengths: NDArray[Any]
    values: NDArray[Any]

    def into(self, out: NDArray[Any], rows: NDArray[np.int64], starts: NDArray[np.int64], fill: int) -> None:
        """Write the values of `rows` into the lines of `out`; see `Channel`."""
        lines = out.view(np.uint32)
        wrong = _rows.runs(self.values, self.lengths, self.rows, starts, rows, fill & _ALL_BITS, lines)
        if wrong >= 0:
            raise _broken(self.name, f"runs of {_tokens_of(rows[wrong], starts)}", "others")

    def stretch(self, first: int, bounds: NDArray[np.int64]) -> NDArray[Any]:
        """The values of the rows from `first` on, end to end; row i of them has tokens bounds[i] to bounds[i + 1].
        `IndexCorrupt` if runs are of others."""
        counts = self.counts(first, bounds)
        return np.asarray(self.values[self.rows[first] : self.rows[first + len(bounds) - 1]].repeat(counts))

    def counts(self, first: int, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tokens of each run of these rows; `IndexCorrupt` unless those of each row are the row's."""
        opens = self.rows[first : first + len(bounds)]
        counts: NDArray[np.int64] = np.add(self.lengths[opens[0] : opens[-1]], 1, dtype=np.int64)
        found = np.add.reduceat(counts, opens[:-1] - opens[0])
        wrong = np.flatnonzero(found != np.diff(bounds))
        if len(wrong):
            row, expected = first + int(wrong[0]), bounds[wrong[0] + 1] - bounds[wrong[0]]
            raise _broken(self.name, f"runs of {expected} tokens in row {row}", f"{found[wrong[0]]} tokens")
        return counts


class ChannelWriter:
    """Takes the values of rows in order, and at the end writes them in the form that is fewer bytes.

    Memory does not grow with the rows: their runs wait in files of `folder` that have no name, open as long as `stack`.
    """

    def __init__(self, stack: ExitStack, folder: Path, row_tokens: int) -> None:
        self.runs = self._tokens = self._rows = self._least = self._most = 0
        self._row_tokens = row_tokens
        self._row_file, self._length_file, self._value_file = (
            stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(3)
        )

    def append(self, values: NDArray[Any], tokens_per_row: NDArray[np.int64]) -> None:
        """Add rows of so many tokens each, at least one, whose values lie end to end in `values`."""
        firsts = np.cumsum(tokens_per_row) - tokens_per_row
        opens = np.append(True, values[1:] != values[:-1])
        opens[firsts] = True
        places = np.flatnonzero(opens)
        held = values[places]
        self._row_file.write((np.searchsorted(places, firsts) + self.runs).astype(ROW_DTYPE).data)
        self._length_file.write(np.diff(places, append=len(values)).astype(_LENGTH).data)
        self._value_file.write(held.astype("<i8").data)
        self._least, self._most = min(self._least, int(held.min())), max(self._most, int(held.max()))
        self.runs += len(places)
        self._tokens += len(values)
        self._rows += len(tokens_per_row)

    def finish(self, file: BinaryIO) -> tuple[np.dtype[Any], int | None]:
        """Write the channel, and give the type of its values and, if it is as runs, their number."""
        dtype = np.promote_types(np.min_scalar_type(self._least), np.min_scalar_type(self._most)).newbyteorder("<")
        lengths = run_dtype(self._row_tokens)
        as_runs = (self._rows + 1) * ROW_DTYPE.itemsize + self.runs * (lengths.itemsize + dtype.itemsize)
        if as_runs >= self._tokens * dtype.itemsize:
            for count, value in zip(_read(self._length_file, _LENGTH), _read(self._value_file, "<i8"), strict=True):
                file.write(np.repeat(value.astype(dtype), count).data)
            return dtype, None
        for rows in _read(self._row_file, ROW_DTYPE):
            file.write(rows.data)
        file.write(np.array([self.runs], dtype=ROW_DTYPE).data)
        for count in _read(self._length_file, _LENGTH):
            file.write((count - 1).astype(lengths).data)
        for value in _read(self._value_file, "<i8"):
            file.write(value.astype(dtype).data)
        return dtype, self.runs


def map_channel(
    path: Path, dtype: np.dtype[Any], runs: int | None, *, tokens: int, rows: int, row_tokens: int
) -> Channel:
    """The channel in `path`; of runs, only where rows begin is read.

    `IndexCorrupt` for a file that is missing, has another size than the counts say, or whose rows of runs do not rise
    from 0 to their number.
    """
    if runs is None:
        return Values(_map(path, dtype, 0, tokens, tokens * dtype.itemsize))
    lengths = run_dtype(row_tokens)
    head, middle = (rows + 1) * ROW_DTYPE.itemsize, runs * lengths.itemsize
    size = head + middle + runs * dtype.itemsize
    firsts = _map(path, ROW_DTYPE, 0, rows + 1, size)
    rising = all(bool((np.diff(firsts[part.start : part.stop + 1]) > 0).all()) for part in blocks(rows))
    if not rising or firsts[0] != 0 or firsts[-1] != runs:
        raise _broken(path.name, f"rows that rise from 0 to {runs}", "otherwise")
    return Runs(path.name, firsts, _map(path, lengths, head, runs, size), _map(path, dtype, head + middle, runs, size))


def verify_channel(channel: Channel, starts: NDArray[np.int64]) -> None:
    """`IndexCorrupt` unless the runs of each row cover its tokens; what is one value per token has no rule."""
    if not isinstance(channel, Runs):
        return
    for part in blocks(len(starts) - 1, max(1, _AT_ONCE // int(np.diff(starts).max(initial=1)))):
        channel.counts(part.start, starts[part.start : part.stop + 1])


def _tokens_of(row: int, starts: NDArray[np.int64]) -> str:
    return f"{starts[row + 1] - starts[row]} tokens in row {row}"


def _read(file: Any, dtype: Any) -> Iterator[NDArray[Any]]:
    file.seek(0)
    width = np.dtype(dtype).itemsize
    while data := file.read(_AT_ONCE * width):
        yield np.frombuffer(data, dtype)


def _map(path: Path, dtype: np.dtype[Any], offset: int, count: int, size: int) -> NDArray[Any]:
    found = path.stat().st_size if path.is_file() else "no such file"
    if found != size:
        raise _broken(path.name, f"{size} bytes: {count} values of {dtype.itemsize} bytes", found)
    return mapped(path, dtype, count, offset)


def _broken(name: str, expected: str, found: object) -> IndexCorrupt:
    return IndexCorrupt(name, expected=expected, found=found, do="rerun megatron_bin_idx")
