"""The strict reader: every contradiction between header, index and .bin is found before anything is mapped."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.megatron.pair.index_format import TOKEN_CODE, IndexHeader
from megacpp_assets.megatron.pair.reader import open_bin_idx, token_starts
from tests.megatron.pairs import part, write_pair

LENGTHS = [3, 1, 4, 1, 5]
FLOAT32_CODE = 7


def test_documents_come_back_as_written(tmp_path: Path) -> None:
    tokens = write_pair(tmp_path / "x", LENGTHS)
    data = open_bin_idx(tmp_path / "x")
    assert np.concatenate([data.document(index) for index in range(data.documents)]).tolist() == tokens.tolist()


def test_a_document_outlives_the_pair_it_came_from(tmp_path: Path) -> None:
    tokens = write_pair(tmp_path / "x", LENGTHS)
    assert open_bin_idx(tmp_path / "x").document(2).tolist() == tokens[4:8].tolist()


def _patch(suffix: str, offset: int, form: str, value: int) -> Callable[[Path], object]:
    def plant(prefix: Path) -> None:
        with part(prefix, suffix).open("r+b") as file:
            file.seek(offset)
            file.write(struct.pack(form, value))

    return plant


def _cut(suffix: str, by: int) -> Callable[[Path], object]:
    def plant(prefix: Path) -> None:
        path = part(prefix, suffix)
        path.write_bytes(path.read_bytes()[:-by])

    return plant


def _grow(suffix: str) -> Callable[[Path], object]:
    return lambda prefix: part(prefix, suffix).open("ab").write(b"\0\0\0\0")


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (_patch(IDX, 0, "<B", 0), "x.idx.*MMIDIDX"),
        (_patch(IDX, 9, "<Q", 2), "version 2"),
        (_patch(IDX, 17, "<B", 9), "dtype code"),
        (_patch(IDX, 17, "<B", 8), "pointer 1"),
        (_patch(IDX, 18, "<Q", 2**31), "at most 2147483647 sequences and documents"),
        (_patch(IDX, 26, "<Q", 2**31 + 1), "at most 2147483647 sequences and documents"),
        (_patch(IDX, 26, "<Q", 5), "size in bytes"),
        (_patch(IDX, 34, "<i", 4), "x.idx, pointer 1"),
        (_patch(IDX, 34 + 16, "<i", 6), "x.bin, size in bytes; expected 60; found 56"),
        (_patch(IDX, 34 + 4, "<i", 0), "length 1"),
        (_patch(IDX, 34 + 4, "<i", -1), "length 1"),
        (_patch(IDX, 34 + 20 + 16, "<q", 8), "pointer 2"),
        (_patch(IDX, 34 + 60 + 8, "<q", 2), "document 1; expected at least one sequence"),
        (_patch(IDX, 34 + 60 + 8, "<q", 9), "document 1; expected at least one sequence"),
        (_patch(IDX, 34 + 60, "<q", 1), r"first and last document boundary; expected \(0, 5\); found \(1, 5\)"),
        (_patch(IDX, 34 + 100, "<q", 4), r"first and last document boundary; expected \(0, 5\); found \(0, 4\)"),
        (_cut(IDX, 1), "x.idx, size in bytes"),
        (_cut(IDX, 120), "at least 34 bytes"),
        (_grow(IDX), "x.idx, size in bytes"),
        (_cut(BIN, 4), "x.bin, size in bytes"),
        (_grow(BIN), "x.bin, size in bytes"),
        (lambda prefix: part(prefix, BIN).write_bytes(b""), "x.bin.*an empty file"),
        (lambda prefix: part(prefix, IDX).write_bytes(b""), "x.idx.*an empty file"),
        (lambda prefix: part(prefix, BIN).unlink(), "x.bin.*no such file"),
        (lambda prefix: part(prefix, IDX).unlink(), "x.idx.*no such file"),
    ],
)
def test_a_contradiction_is_named(tmp_path: Path, plant: Callable[[Path], object], said: str) -> None:
    write_pair(tmp_path / "x", LENGTHS)
    plant(tmp_path / "x")
    with pytest.raises(IndexCorrupt, match=said):
        open_bin_idx(tmp_path / "x")


def test_a_pair_without_documents_is_rejected(tmp_path: Path) -> None:
    write_pair(tmp_path / "x", [])
    with pytest.raises(IndexCorrupt, match="at least one document of one sequence; found 0 sequences, 0 documents"):
        open_bin_idx(tmp_path / "x")


@given(st.data())
@settings(max_examples=200)
def test_no_single_changed_byte_of_an_index_goes_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    prefix = tmp_path_factory.mktemp("fuzz") / "x"
    write_pair(prefix, LENGTHS)
    path = part(prefix, IDX)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    assume(content[17] != FLOAT32_CODE)  # as legal as int32, and as wide
    path.write_bytes(content)
    with pytest.raises(IndexCorrupt):
        open_bin_idx(prefix)


def test_tokens_beyond_31_bits_are_found_at_their_place(tmp_path: Path) -> None:
    """The .bin is sparse: 8 GiB of which the last document alone lies on the disk."""
    length, documents, last = 1 << 20, (1 << 11) + 1, np.arange(7, 7 + (1 << 20), dtype="<i4")
    with (tmp_path / "long.bin").open("wb") as file:
        file.seek((documents - 1) * length * 4)
        file.write(last.data)
    lengths = np.full(documents, length, "<i4")
    pointers, boundaries = np.arange(documents, dtype="<i8") * length * 4, np.arange(documents + 1, dtype="<i8")
    header = IndexHeader(TOKEN_CODE, documents, documents + 1).to_bytes()
    (tmp_path / "long.idx").write_bytes(header + lengths.tobytes() + pointers.tobytes() + boundaries.tobytes())
    pair = open_bin_idx(tmp_path / "long")
    assert len(pair.tokens) == (1 << 31) + (1 << 20)
    assert np.array_equal(pair.document(documents - 1), last)
    assert token_starts(pair, np.array([0, documents - 1, documents])).tolist() == [0, 1 << 31, (1 << 31) + (1 << 20)]
