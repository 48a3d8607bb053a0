"""Windows by number, whatever file they are in."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.errors import IndexCorrupt, MegacppError
from megacpp_assets.loader.grain.index import build_index
from megacpp_assets.loader.grain.maps import MmapCache
from megacpp_assets.loader.grain.source import OlmoNpyDataSource
from tests.loader.grain.token_files import VECTORS, index_of, write_files
from tests.megatron.pairs import write_pair


def test_windows_and_their_files_are_upstreams(tmp_path: Path) -> None:
    source = OlmoNpyDataSource(index_of(tmp_path, [10, 3, 9, 4], 4))
    assert [element["tokens"].tolist() for element in source] == VECTORS["windows"]
    assert [element["file_id"] for element in source] == VECTORS["file_ids"]
    assert [element["instance_id"] for element in source] == list(range(len(source)))


def test_windows_of_our_own_bin_are_its_tokens(tmp_path: Path) -> None:
    tokens = write_pair(tmp_path / "x", [5, 1, 300, 64, 2])
    source = OlmoNpyDataSource(build_index([(str(tmp_path / "x.bin"), "x")], 64, tokenizer="ours"))
    found = np.concatenate([element["tokens"] for element in source])
    assert found.dtype == np.int32
    assert found.tolist() == tokens[: len(tokens) // 64 * 64].tolist()


def test_a_window_is_a_copy(tmp_path: Path) -> None:
    source = OlmoNpyDataSource(index_of(tmp_path, [8], 4))
    source[0]["tokens"][:] = 99
    assert source[0]["tokens"].tolist() == [0, 1, 2, 3]


def test_no_more_files_are_open_than_allowed_also_in_a_worker(tmp_path: Path) -> None:
    source = OlmoNpyDataSource(index_of(tmp_path, [4] * 9, 4), max_open_files=2)
    for copy in (source, pickle.loads(pickle.dumps(source))):
        assert [element["tokens"][0] for element in copy] == list(range(0, 36, 4))
        assert copy.open_files == 2


def test_a_map_in_use_stays_open_and_the_oldest_unused_one_is_closed(tmp_path: Path) -> None:
    paths = [Path(path) for path in write_files(tmp_path, [4] * 4)]
    maps = MmapCache(lambda number: paths[number], np.dtype("<u4"), 2)
    with maps.borrowed(0) as first, maps.borrowed(1), maps.borrowed(2) as third:
        assert len(maps) == 3 and (first[0], third[0]) == (0, 8)
    assert len(maps) == 2
    del first, third
    with maps.borrowed(3):
        assert sorted(maps._maps) == [1, 3]


def test_equal_sources_are_known_by_their_repr(tmp_path: Path) -> None:
    index = index_of(tmp_path, [8], 4)
    assert repr(OlmoNpyDataSource(index)) == repr(OlmoNpyDataSource(index))
    assert repr(OlmoNpyDataSource(index)) != repr(OlmoNpyDataSource(index, path_remap={"a": "b"}))
    assert "dtype='<u4'" in repr(OlmoNpyDataSource(index))


def test_a_path_is_rewritten_once_by_the_first_prefix_that_it_starts_with(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    index = index_of(tmp_path / "old", [8], 4)
    (tmp_path / "old").rename(tmp_path / "new")
    with pytest.raises(FileNotFoundError, match="path_remap") as refused:
        OlmoNpyDataSource(index)[0]
    assert isinstance(refused.value, MegacppError)
    remap = {str(tmp_path / "old"): str(tmp_path / "new"), str(tmp_path): "/nowhere", str(tmp_path / "new"): "/never"}
    assert OlmoNpyDataSource(index, path_remap=remap)[1]["tokens"].tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("damage", [b"", b"1234", b"\x93NUMPY" + bytes(26)])
def test_a_file_that_is_not_as_the_index_says_is_rejected(tmp_path: Path, damage: bytes) -> None:
    source = OlmoNpyDataSource(index_of(tmp_path, [8], 4))
    (tmp_path / "f0.bin").write_bytes(damage)
    with pytest.raises(IndexCorrupt, match=r"f0\.bin"):
        source[0]
