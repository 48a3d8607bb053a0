from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from megacpp_assets.storage.caching.cache import Cache

NAMES = [hashlib.sha256(bytes([number])).hexdigest() for number in range(4)]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_only_stored_entries_are_found(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert cache.get(NAMES[0]) is None
    cache.put(NAMES[0], b"one")
    cache.put(NAMES[0], b"two")
    assert cache.get(NAMES[0]) == b"two"
    assert cache.get(NAMES[1]) is None
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "longer"])
def test_a_damaged_entry_is_not_found_and_can_be_put_again(tmp_path: Path, damage: str) -> None:
    cache = Cache(tmp_path)
    cache.put(NAMES[0], b"x" * 1000)
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    path.write_bytes({"cut": whole[:-1], "flipped": flipped, "empty": b"", "longer": whole + b"x"}[damage])
    assert cache.get(NAMES[0]) is None
    cache.put(NAMES[0], b"y")
    assert cache.get(NAMES[0]) == b"y"


def test_an_entry_under_another_name_is_not_found(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(NAMES[0], b"one")
    cache.put(NAMES[1], b"two")
    first, second = (tmp_path / name[:2] / name[2:] for name in NAMES[:2])
    second.write_bytes(first.read_bytes())
    assert cache.get(NAMES[1]) is None
    assert cache.get(NAMES[0]) == b"one"


def test_over_the_limit_the_entries_longest_unused_go(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for age, name in enumerate(NAMES):
        cache.put(name, os.urandom(1000))
        path = tmp_path / name[:2] / name[2:]
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert cache.get(NAMES[3]) is not None  # used now, so the oldest no more
    cache.trim(limit_bytes=5000)
    assert len(files(tmp_path)) == 4
    cache.trim(limit_bytes=3000)
    assert [cache.get(name) is not None for name in NAMES] == [True, False, False, True]


@pytest.mark.parametrize(("age_s", "stays"), [(0, True), (7200, False)], ids=["now", "by a killed process"])
def test_what_is_being_written_is_no_entry_to_remove(age_s: float, stays: bool, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("a" * 64, b"entry")
    written = tmp_path / "aa" / ".written"
    written.write_bytes(b"half of an entry")
    os.utime(written, (time.time() - age_s,) * 2)
    cache.clear()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == ([written] if stays else [])


def test_a_folder_that_does_not_exist_needs_no_trimming(tmp_path: Path) -> None:
    Cache(tmp_path / "none").trim(0)
    assert not (tmp_path / "none").exists()
