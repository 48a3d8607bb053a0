"""Tests of durable file operations."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from megacpp_assets.storage.atomic import temporary_path, undone_on_error, write_atomic
from tests.storage.crash import run_killed_at


def test_a_reader_sees_the_old_bytes_or_the_new_at_every_moment(tmp_path: Path) -> None:
    old, new = b"old" * 1000, b"new" * 3000
    seen = set()
    for event in range(10):
        path = tmp_path / str(event) / "corpus.lock"
        write_atomic(path, old)
        run_killed_at(event, partial(write_atomic, path, new))
        seen.add(path.read_bytes())
    assert seen == {old, new}


def test_no_temporary_file_remains(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_atomic(path, b"x")
    assert not temporary_path(path).exists()
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(2), SystemExit(1)])
def test_a_block_that_raises_is_undone_and_its_error_is_kept(error: BaseException) -> None:
    undone: list[str] = []
    with pytest.raises(type(error)) as raised, undone_on_error(lambda: undone.append("undone")):
        raise error
    assert raised.value is error
    assert undone == ["undone"]


def test_a_block_that_ends_well_is_not_undone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with undone_on_error(kept.unlink):
        kept.write_bytes(b"x")
    assert kept.read_bytes() == b"x"


def test_the_error_of_the_block_is_raised_even_if_undoing_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad"), undone_on_error((tmp_path / "missing").unlink):
        raise ValueError("bad")
