"""Channels beside a pair: any row reads as it was written, in the form that is fewer bytes; broken runs are refused."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.megatron.sidecars.channels import Channel, ChannelWriter, map_channel, verify_channel

ROW_TOKENS = 64
ROWS = st.lists(
    st.lists(st.sampled_from([0, 0, 0, 1, 7, -1, 300, 70_000]), min_size=1, max_size=ROW_TOKENS), min_size=1, max_size=9
)


def written(folder: Path, rows: list[list[int]], row_tokens: int = ROW_TOKENS) -> tuple[Path, Any, int | None]:
    """The file of a channel of `rows`, taken two at a time, its type and its runs."""
    path = folder / "roles.bin"
    with ExitStack() as stack, path.open("wb") as file:
        writer = ChannelWriter(stack, folder, row_tokens)
        for first in range(0, len(rows), 2):
            block = rows[first : first + 2]
            writer.append(np.concatenate([np.array(row) for row in block]), np.array([len(row) for row in block]))
        return path, *writer.finish(file)


def opened(path: Path, dtype: Any, runs: int | None, rows: list[list[int]], row_tokens: int = ROW_TOKENS) -> Channel:
    tokens = sum(len(row) for row in rows)
    return map_channel(path, dtype, runs, tokens=tokens, rows=len(rows), row_tokens=row_tokens)


def starts_of(rows: list[list[int]]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)


@settings(deadline=None)
@given(ROWS)
def test_every_row_reads_as_it_was_written(rows: list[list[int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        channel, starts = opened(*written(Path(folder), rows), rows), starts_of(rows)
        verify_channel(channel, starts)
        for number in reversed(range(len(rows))):
            assert channel.consecutive(number, starts[number : number + 2]).tolist() == rows[number]
        numbers = np.arange(len(rows))[::-1]
        out = np.empty((len(rows), max(map(len, rows)) + 2), dtype=np.int32)
        channel.into(out, numbers, starts, -1)
        padded = [rows[number] + [-1] * (out.shape[1] - len(rows[number])) for number in numbers]
        assert out.tolist() == padded


@settings(deadline=None)
@given(ROWS, st.data())
def test_any_stretch_of_rows_reads_as_they_do_one_by_one(rows: list[list[int]], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(rows) - 1))
    last = data.draw(st.integers(first + 1, len(rows)))
    with tempfile.TemporaryDirectory() as folder:
        channel, starts = opened(*written(Path(folder), rows), rows), starts_of(rows)
        found = channel.consecutive(first, starts[first : last + 1])
        assert found.tolist() == [value for row in rows[first:last] for value in row]


@settings(deadline=None)
@given(ROWS)
def test_the_form_is_the_one_of_fewer_bytes(rows: list[list[int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, dtype, runs = written(Path(folder), rows)
        flat = [value for row in rows for value in row]
        changes = sum(1 + sum(one != other for one, other in pairwise(row)) for row in rows)
        least = min([0, *flat]), max([0, *flat])
        assert np.iinfo(dtype).min <= least[0] and least[1] <= np.iinfo(dtype).max
        both = len(flat) * dtype.itemsize, 8 * (len(rows) + 1) + changes * (2 + dtype.itemsize)
        assert path.stat().st_size == min(both) and runs == (changes if both[1] < both[0] else None)


def test_a_row_of_65536_equal_tokens_is_one_run_and_longer_rows_have_wider_runs(tmp_path: Path) -> None:
    for length, width in ((1 << 16, 2), (1 << 17, 4)):
        rows = [[5] * length]
        path, dtype, runs = written(tmp_path, rows, length)
        assert (runs, path.stat().st_size) == (1, 16 + width + 1)
        row = opened(path, dtype, runs, rows, length).consecutive(0, np.array([0, length]))
        assert len(row) == length and (row == 5).all()


@pytest.mark.parametrize(
    ("offset", "data", "said"),
    [
        (0, b"\x01", "rise from 0 to 3"),
        (8, b"\x03", "rise from 0 to 3"),
        (16, b"\x09", "rise from 0 to 3"),
        (24, b"\x02", "runs of 40 tokens in row 0"),
        (26, b"\x02", "runs of 40 tokens in row 0"),
        (28, b"\x02", "runs of 20 tokens in row 1"),
    ],
)
def test_runs_that_are_not_those_of_the_rows_are_rejected(tmp_path: Path, offset: int, data: bytes, said: str) -> None:
    rows = [[1] * 30 + [2] * 10, [3] * 20]
    path, dtype, runs = written(tmp_path, rows)
    assert runs == 3
    whole = path.read_bytes()
    path.write_bytes(whole[:offset] + data + whole[offset + 1 :])
    with pytest.raises(IndexCorrupt, match=said):
        verify_channel(opened(path, dtype, runs, rows), starts_of(rows))
    with pytest.raises(IndexCorrupt, match=said):
        channel = opened(path, dtype, runs, rows)
        for number, row in enumerate(rows):
            channel.consecutive(number, np.array([0, len(row)]))
    with pytest.raises(IndexCorrupt, match=said):
        out = np.empty((len(rows), 40), dtype=np.int32)
        opened(path, dtype, runs, rows).into(out, np.arange(len(rows)), starts_of(rows), 0)


@pytest.mark.parametrize("rows", [[[1] * 30, [2] * 30], [[1, 2, 3]]])
def test_a_file_of_another_size_is_rejected(tmp_path: Path, rows: list[list[int]]) -> None:
    path, dtype, runs = written(tmp_path, rows)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(IndexCorrupt, match=r"roles\.bin; expected .* bytes"):
        opened(path, dtype, runs, rows)
