"""Tests of changing `corpus.lock`: no lost updates, no change without a reason, never half written."""

from __future__ import annotations

import calendar
import os
import time
from functools import partial
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, LockFile
from megacpp_assets.storage.root.layout import LOCK_FILE
from megacpp_assets.storage.root.lock_file import lock_notes, read_corpus, read_lock, update_lock
from tests.forks import forked
from tests.storage.crash import run_killed_at


def add(root: Path, dataset: str) -> LockFile:
    return update_lock(root, lambda lock: lock.with_corpus(CorpusLock(dataset, "sample")))


def test_a_missing_lock_is_empty_and_an_unknown_dataset_is_rejected(tmp_path: Path) -> None:
    assert read_lock(tmp_path) == LockFile()
    add(tmp_path, "tiny")
    assert read_corpus(tmp_path, "tiny").recipe == "sample"
    with pytest.raises(SpecError, match=r"dataset 'huge'; expected one of tiny; .* megacpp run"):
        read_corpus(tmp_path, "huge")
    with pytest.raises(SpecError, match=f"active dataset of {tmp_path}; .* found tiny"):
        read_corpus(tmp_path, "")


def test_an_update_that_changes_nothing_leaves_the_file_alone(tmp_path: Path) -> None:
    add(tmp_path, "tiny")
    before = (tmp_path / LOCK_FILE).stat()
    add(tmp_path, "tiny")
    after = (tmp_path / LOCK_FILE).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_the_note_of_every_change_has_its_time(tmp_path: Path) -> None:
    before = time.time()
    for dataset in ("one", "two", "three"):
        add(tmp_path, dataset)
    times = [note["at"] for note in lock_notes(tmp_path).values()]
    assert len(times) == 2, "before the first change there was no lock"
    for text in times:
        seconds = calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
        assert int(before) <= seconds <= time.time()


def test_updates_of_several_processes_are_all_kept(tmp_path: Path) -> None:
    children = [forked(partial(add, tmp_path, f"set{index}")) for index in range(6)]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 6
    assert sorted(read_lock(tmp_path).datasets) == [f"set{index}" for index in range(6)]


def test_a_crash_in_an_update_leaves_a_lock_that_reads(tmp_path: Path) -> None:
    for event in range(12):
        root = tmp_path / str(event)
        add(root, "first")
        run_killed_at(event, lambda root=root: add(root, "second"))
        assert sorted(read_lock(root).datasets) in (["first"], ["first", "second"])
        assert sorted(add(root, "second").datasets) == ["first", "second"]


def test_a_damaged_lock_is_rejected(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_bytes(b"active = [")
    with pytest.raises(LineageGap, match=r"corpus\.lock"):
        read_lock(tmp_path)
