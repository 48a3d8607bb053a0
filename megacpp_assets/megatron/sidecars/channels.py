"""Channels of a prefix: files with one value per token, or with runs of equal values if that needs fewer bytes.

As values, `<prefix>.<channel>.bin` has one value per token of the `.bin`, in the same order. As runs, it has three
parts: rows + 1 int64 with the first run of each row and the number of runs; the length of each run in tokens, minus
one; and the value of each run. A run never crosses the end of a row, so each row can be read by itself. The type of the
values is the narrowest that fits all of them.
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
from megacpp_assets.megatron.pair.index_format import ROW_DTYPE
from megacpp_assets.megatron.pair.reader import blocks, mapped

_LENGTH: Final = np.dtype("<u4")
_ALL_BITS: Final = 0xFFFFFFFF
_AT_ONCE: Final = 1 << 18
"""Runs handled at a time while a channel is written or verified."""


def run_dtype(row_tokens: int) -> np.dtype[Any]:
    """Return the type of a run's stored length (tokens minus one) in rows of `row_tokens` tokens."""
    return np.dtype("<u2" if row_tokens <= 1 << 16 else "<u4")


class Channel(Protocol):
    """The values of one channel, read for rows in any order or for consecutive rows."""

    def into(self, out: NDArray[Any], rows: NDArray[np.int64], starts: NDArray[np.int64], fill: int) -> None:
        """Write the values of `rows` into the lines of `out`, four-byte (B, T), and fill the rest with `fill`.

        Row r has the tokens [starts[r], starts[r + 1]) of the `.bin`.

        Raises:
            IndexError: a row does not exist.
            IndexCorrupt: the values of a row do not match its number of tokens.
        """

    def consecutive(self, first: int, bounds: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values of consecutive rows from row `first`; the i-th one has tokens [bounds[i], bounds[i
        + 1]).
        """


@dataclass(frozen=True, slots=True)
class ChannelValues:
    """A channel stored as one value per token."""

    values: NDArray[Any]

    def into(self, out: NDArray[Any], rows: NDArray[np.int64], starts: NDArray[np.int64], fill: int) -> None:
        """Write the values of `rows` into the lines of `out`; see `Channel`."""
        wrong = _rows.values(self.values, starts, rows, fill & _ALL_BITS, out.view(np.uint32))
        if wrong >= 0:
            raise _broken("values", _tokens_of(rows[wrong], starts), f"{len(self.values)} in all")

    def consecutive(self, first: int, bounds: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values of consecutive rows from row `first`; the i-th one has tokens [bounds[i], bounds[i
        + 1]).
        """
        del first
        return np.asarray(self.values[bounds[0] : bounds[-1]])


@dataclass(frozen=True, slots=True)
class Runs:
    """A channel stored as runs.

    Row r has the runs [rows[r], rows[r + 1]); run i is lengths[i] + 1 tokens of values[i].
    """

    name: str
    rows: NDArray[np.int64]
    lengths: NDArray[Any]
    values: NDArray[Any]

    def into(self, out: NDArray[Any], rows: NDArray[np.int64], starts: NDArray[np.int64], fill: int) -> None:
        """Write the values of `rows` into the lines of `out`; see `Channel`."""
        lines = out.view(np.uint32)
        wrong = _rows.runs(self.values, self.lengths, self.rows, starts, rows, fill & _ALL_BITS, lines)
        if wrong >= 0:
            raise _broken(self.name, f"runs of {_tokens_of(rows[wrong], starts)}", "runs of another length")

    def consecutive(self, first: int, bounds: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values of consecutive rows from row `first`; the i-th one has tokens [bounds[i], bounds[i + 1]).

        Raises `IndexCorrupt` if the runs of a row do not match its number of tokens.
        """
        counts = self.counts(first, bounds)
        return np.asarray(self.values[self.rows[first] : self.rows[first + len(bounds) - 1]].repeat(counts))

    def counts(self, first: int, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens of each run of these rows.

        Raises `IndexCorrupt` if the runs of a row do not add up to its tokens.
        """
        opens = self.rows[first : first + len(bounds)]
        counts: NDArray[np.int64] = np.add(self.lengths[opens[0] : opens[-1]], 1, dtype=np.int64)
        found = np.add.reduceat(counts, opens[:-1] - opens[0])
        wrong = np.flatnonzero(found != np.diff(bounds))
        if len(wrong):
            row, expected = first + int(wrong[0]), bounds[wrong[0] + 1] - bounds[wrong[0]]
            raise _broken(self.name, f"runs of {expected} tokens in row {row}", f"{found[wrong[0]]} tokens")
        return counts


class ChannelWriter:
    """Collects the values of rows in order, and writes them at the end in the form that needs fewer bytes.

    Memory does not grow with the rows: the runs are kept in unnamed temporary files in `folder`, which `stack` closes.
    """

    def __init__(self, stack: ExitStack, folder: Path, row_tokens: int) -> None:
        self.runs = self._tokens = self._rows = self._least = self._most = 0
        self._row_tokens = row_tokens
        self._row_file, self._length_file, self._value_file = (
            stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(3)
        )

    def append(self, values: NDArray[Any], tokens_per_row: NDArray[np.int64]) -> None:
        """Add rows with the given numbers of tokens, each at least 1. `values` has their values, row after row."""
        firsts = np.cumsum(tokens_per_row) - tokens_per_row
        # A run starts where the value changes, and at the start of each row.
        starts_run = np.append(True, values[1:] != values[:-1])
        starts_run[firsts] = True
        places = np.flatnonzero(starts_run)
        run_values = values[places]
        self._row_file.write((np.searchsorted(places, firsts) + self.runs).astype(ROW_DTYPE).data)
        self._length_file.write(np.diff(places, append=len(values)).astype(_LENGTH).data)
        self._value_file.write(run_values.astype("<i8").data)
        self._least, self._most = min(self._least, int(run_values.min())), max(self._most, int(run_values.max()))
        self.runs += len(places)
        self._tokens += len(values)
        self._rows += len(tokens_per_row)

    def finish(self, file: BinaryIO) -> tuple[np.dtype[Any], int | None]:
        """Write the channel to `file` and return (type of its values, number of runs or None if stored as values)."""
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
    """Map the channel in `path`. Of runs, only the first part is read.

    Raises `IndexCorrupt` if the file is missing, has an unexpected size, or if the first runs of rows do not rise from
    0 to the number of runs.
    """
    if runs is None:
        return ChannelValues(_map(path, dtype, 0, tokens, tokens * dtype.itemsize))
    lengths = run_dtype(row_tokens)
    head, middle = (rows + 1) * ROW_DTYPE.itemsize, runs * lengths.itemsize
    size = head + middle + runs * dtype.itemsize
    firsts = _map(path, ROW_DTYPE, 0, rows + 1, size)
    rising = all(bool((np.diff(firsts[part.start : part.stop + 1]) > 0).all()) for part in blocks(rows))
    if not rising or firsts[0] != 0 or firsts[-1] != runs:
        raise _broken(path.name, f"rows that rise from 0 to {runs}", "row starts that break the rule")
    return Runs(path.name, firsts, _map(path, lengths, head, runs, size), _map(path, dtype, head + middle, runs, size))


def verify_channel(channel: Channel, starts: NDArray[np.int64]) -> None:
    """Raise `IndexCorrupt` if the runs of a row do not add up to its tokens.

    A channel of values has nothing to verify.
    """
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
