"""Tests of durable file operations."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.storage.atomic import temporary_path, write_atomic
from tests.storage.crash import run_killed_at


def test_a_reader_sees_the_old_bytes_or_the_new_at_every_moment(tmp_path: Path) -> None:
    old, new = b"old" * 1000, b"new" * 3000
    seen = set()
    for event in range(10):
        path = tmp_path / str(event) / "corpus.lock"
        write_atomic(path, old)
        run_killed_at(event, lambda path=path: write_atomic(path, new))
        seen.add(path.read_bytes())
    assert seen == {old, new}


def test_no_temporary_file_remains(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_atomic(path, b"x")
    assert not temporary_path(path).exists()
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
