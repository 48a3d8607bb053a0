"""The streaming writer: byte-equal to Megatron's own builder, flat in memory, strict about what it is given."""

from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.megatron.pair import writer as writer_module
from megacpp_assets.megatron.pair.writer import open_writer
from tests.megatron.pairs import VOCABULARY, part, write_pair


def test_the_index_holds_header_lengths_pointers_and_documents(tmp_path: Path) -> None:
    write_pair(tmp_path / "x", [3, 1, 4])
    assert part(tmp_path / "x", IDX).read_bytes() == b"".join(
        [
            b"MMIDIDX\x00\x00",
            struct.pack("<QBQQ", 1, 4, 3, 4),
            struct.pack("<3i", 3, 1, 4),
            struct.pack("<3q", 0, 12, 16),
            struct.pack("<4q", 0, 1, 2, 3),
        ]
    )


def test_the_size_of_an_index_is_42_bytes_and_20_per_document(tmp_path: Path) -> None:
    write_pair(tmp_path / "x", [5] * 321)
    assert part(tmp_path / "x", IDX).stat().st_size == 42 + 20 * 321


def test_tokens_are_four_bytes_little_endian(tmp_path: Path) -> None:
    tokens = write_pair(tmp_path / "x", [2, 9])
    assert part(tmp_path / "x", BIN).read_bytes() == tokens.astype("<u4").tobytes()


def test_the_bytes_do_not_depend_on_the_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = list(range(1, 40))
    write_pair(tmp_path / "a", lengths, block=39)
    monkeypatch.setattr(writer_module, "_BLOCK", 5)
    write_pair(tmp_path / "b", lengths, block=2)
    for suffix in (BIN, IDX):
        assert part(tmp_path / "a", suffix).read_bytes() == part(tmp_path / "b", suffix).read_bytes()


def test_memory_does_not_grow_with_the_number_of_documents(tmp_path: Path) -> None:
    peaks = []
    for documents in (400_000, 3_200_000):
        tokens, lengths = np.ones(100_000, np.uint32), np.ones(100_000, np.int32)
        with open_writer(tmp_path / "b", tmp_path / "i", 2) as writer:
            tracemalloc.start()
            for _ in range(documents // 100_000):
                writer.append(tokens, lengths)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= peaks[0] * 1.1


@pytest.mark.parametrize(
    ("tokens", "lengths", "said"),
    [
        ([1, 2, 3], [2, 2], "expected 3 tokens"),
        ([1, 2, 3], [3, 0], "at least one token"),
        ([1, 2, 3], [4, -1], "at least one token"),
        ([1, VOCABULARY, 3], [3], f"ids from 0 to {VOCABULARY - 1}"),
        ([1, 2**31 + 5, 3], [3], f"ids from 0 to {VOCABULARY - 1}"),
    ],
)
def test_documents_that_contradict_themselves_are_rejected_before_a_byte_is_written(
    tmp_path: Path, tokens: list[int], lengths: list[int], said: str
) -> None:
    with pytest.raises(SchemaViolation, match=said), open_writer(tmp_path / "b", tmp_path / "i", VOCABULARY) as writer:
        writer.append(np.array(tokens, np.uint32), np.array(lengths, np.int32))
    assert (tmp_path / "b").stat().st_size == 0 and not (tmp_path / "i").exists()


def test_a_failure_leaves_no_index_and_no_temporary_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), open_writer(tmp_path / "b", tmp_path / "i", 9) as writer:
        writer.append(np.array([1], np.uint32), np.array([1], np.int32))
        raise RuntimeError
    assert os.listdir(tmp_path) == ["b"]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 9))
@settings(max_examples=25)
def test_lengths_add_up_to_the_tokens(tmp_path_factory: pytest.TempPathFactory, lengths: list[int], block: int) -> None:
    prefix = tmp_path_factory.mktemp("pair") / "x"
    write_pair(prefix, lengths, block)
    assert part(prefix, BIN).stat().st_size == 4 * sum(lengths)
    assert np.fromfile(part(prefix, IDX), "<i4", len(lengths), offset=34).tolist() == lengths
