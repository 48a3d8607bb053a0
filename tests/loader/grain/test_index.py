"""The index: which window of which file an instance is, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import IndexCorrupt, SpecError
from megacpp_assets.loader.grain.files import raw_header_reader, read_pair_header
from megacpp_assets.loader.grain.index import OlmoNpyIndex, build_index, load_index
from tests.loader.grain.token_files import VECTORS, index_of
from tests.megatron.pairs import write_pair


def sized(sizes: list[int], length: int, dtypes: list[str] | None = None) -> OlmoNpyIndex:
    """An index of files that are nowhere, of those sizes."""
    shapes = {f"f{i}.npy": ((dtypes or ["uint32"] * len(sizes))[i], (size,)) for i, size in enumerate(sizes)}
    return build_index([(p, "lab") for p in shapes], length, tokenizer="tok", header_reader=shapes.__getitem__)


def test_the_fingerprint_and_counts_are_upstreams() -> None:
    index = sized([10, 3, 9, 4], 4)
    assert index.fingerprint == VECTORS["fingerprint_relative"]
    assert [entry.n_instances for entry in index.files] == [2, 0, 2, 1]
    assert [entry.instance_offset for entry in index.files] == [0, 2, 2, 4]
    assert (index.total_instances, index.total_tokens, index.dtype) == (5, 26, "uint32")


@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6), length=st.integers(1, 9))
def test_instances_are_the_whole_windows_of_each_file_in_order(sizes: list[int], length: int) -> None:
    index = sized(sizes, length)
    expected = [(f, w * length) for f, size in enumerate(sizes) for w in range(size // length)]
    files, firsts = index.locate(np.arange(index.total_instances))
    assert list(zip(files.tolist(), firsts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("instance", [-1, 5])
def test_an_instance_beyond_the_last_is_an_index_error(instance: int) -> None:
    with pytest.raises(IndexError, match="from 0 to 4"):
        sized([10, 3, 9, 4], 4).locate(np.array([instance]))


def test_a_saved_index_is_read_back(tmp_path: Path) -> None:
    index = sized([10, 3, 9, 4], 4)
    index.save(tmp_path / "index.json")
    assert load_index(tmp_path / "index.json") == index
    assert list(json.loads((tmp_path / "index.json").read_text())) == [
        "format_version", "sequence_length", "dtype", "tokenizer", "total_instances", "total_tokens", "fingerprint",
        "files",
    ]  # fmt: skip


def test_a_key_of_the_index_that_is_unknown_is_passed_over(tmp_path: Path) -> None:
    raw = {**sized([8], 4).to_json_dict(), "made_by": "somebody"}
    (tmp_path / "index.json").write_text(json.dumps(raw))
    assert load_index(tmp_path / "index.json").total_instances == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": "2"}, "format version"),
        ({"sequence_length": 0}, "sequence_length"),
        ({"sequence_length": 5}, "n_instances of f0"),
        ({"total_instances": 10**12}, "total_instances"),
        ({"total_tokens": 9}, "total_tokens"),
        ({"dtype": "int32"}, "fingerprint"),
        ({"tokenizer": "other"}, "fingerprint"),
        ({"files": [{"path": "f0.npy", "surprise": 1}]}, "surprise"),
        ({"files": 3}, "not iterable"),
        ({"files": [{"path": "a", "label": "", "n_tokens": -8, "n_instances": -2, "instance_offset": 0}]}, "from 0"),
    ],
)
def test_an_index_that_contradicts_itself_is_rejected(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    (tmp_path / "index.json").write_text(json.dumps(sized([8], 4).to_json_dict() | change))
    with pytest.raises(IndexCorrupt, match=message) as refused:
        load_index(tmp_path / "index.json")
    assert isinstance(refused.value, ValueError)
    assert "what to do" in str(refused.value)


def test_a_malformed_json_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_bytes(b"\xff{")
    with pytest.raises(IndexCorrupt, match=r"index\.json"):
        load_index(tmp_path / "index.json")


@pytest.mark.parametrize(
    ("sizes", "length", "dtypes", "error", "message"),
    [
        ([8], 0, None, SpecError, "sequence_length"),
        ([], 4, None, SpecError, "non-empty"),
        ([8, 8], 4, ["uint32", "uint16"], IndexCorrupt, "found uint16"),
    ],
)
def test_no_index_is_built_from_invalid_files(
    sizes: list[int], length: int, dtypes: list[str] | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as refused:
        sized(sizes, length, dtypes)
    assert isinstance(refused.value, ValueError)


def test_our_own_bin_is_indexed_by_the_type_and_length_of_its_idx(tmp_path: Path) -> None:
    tokens = write_pair(tmp_path / "x", [5, 1, 300, 64, 2])
    index = build_index([(str(tmp_path / "x.bin"), "x")], 64, tokenizer="ours")
    assert (index.dtype, index.total_tokens, index.total_instances) == ("int32", len(tokens), len(tokens) // 64)


def test_a_bin_without_a_sound_idx_is_rejected(tmp_path: Path) -> None:
    write_pair(tmp_path / "x", [5, 1])
    (tmp_path / "x.bin").write_bytes((tmp_path / "x.bin").read_bytes()[:-4])
    with pytest.raises(IndexCorrupt, match=r"x\.bin"):
        read_pair_header(str(tmp_path / "x.bin"))
    with pytest.raises(SpecError, match="ends with"):
        read_pair_header(str(tmp_path / "x.npy"))


def test_a_file_with_numpys_header_is_rejected_not_read_as_tokens(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(64, dtype=np.uint32))
    with pytest.raises(IndexCorrupt, match="numpy's header"):
        raw_header_reader("uint32")(str(tmp_path / "x.npy"))


def test_a_size_that_is_no_whole_number_of_tokens_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    with pytest.raises(IndexCorrupt, match="5 bytes"):
        raw_header_reader("uint32")(str(tmp_path / "x"))


def test_bare_tokens_are_counted_by_size(tmp_path: Path) -> None:
    assert index_of(tmp_path, [8], 4, "uint16").total_tokens == 8
