"""Scratch folders: removed at the end, and after a process that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from megacpp_assets.storage.scratch import scratch_folder

PREFIX = "megacpp-test-"
KILLED = f"""
import os, signal
from megacpp_assets.storage.scratch import scratch_folder
with scratch_folder({PREFIX!r}) as folder:
    (folder / "tree").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_folder_is_removed_at_the_end(temporary: Path) -> None:
    with scratch_folder(PREFIX) as folder:
        (folder / "file").write_text("text")
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(temporary: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -signal.SIGKILL
    (left,) = temporary.iterdir()
    assert (left / "tree").is_dir()
    with scratch_folder(PREFIX) as folder:
        assert list(temporary.iterdir()) == [folder]


def test_a_folder_in_use_one_of_another_kind_and_one_without_an_owner_stay(temporary: Path) -> None:
    kept = [temporary / "megacpp-other-1", temporary / f"{PREFIX}strange"]
    for each in kept:
        each.mkdir()
    with scratch_folder(PREFIX) as first, scratch_folder(PREFIX) as second:
        assert {*temporary.iterdir()} == {first, second, *kept}


def test_an_old_folder_whose_process_was_killed_before_it_was_its_owner_is_removed(temporary: Path) -> None:
    left, other = (temporary / f"{PREFIX}{name}" for name in ("left", "other"))
    for folder, name in ((left, "owner.new"), (other, "file")):
        folder.mkdir()
        (folder / name).touch()
        os.utime(folder, (0, 0))
    with scratch_folder(PREFIX) as folder:
        assert {*temporary.iterdir()} == {folder, other}


def test_a_link_in_place_of_an_owner_is_not_followed(temporary: Path) -> None:
    strange, outside = temporary / f"{PREFIX}strange", temporary / "outside"
    strange.mkdir()
    outside.write_text("text")
    os.symlink(outside, strange / "owner")
    with scratch_folder(PREFIX):
        assert strange.is_dir()
