"""What was seen whole is not read again while nothing touched it; whatever touches it is noticed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.storage import artifact as artifacts
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.caching import seen
from megacpp_assets.storage.caching.seen import forget, read_seen
from tests.storage.test_publish import RESULT, make_result, make_source, times, tree

FILES = ["part/word_0", "part/word_1"]


@pytest.fixture
def settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a minute lay between every write and the reading after it."""
    clock = seen.now_ns
    monkeypatch.setattr(artifacts, "now_ns", lambda: clock() + 60 * 10**9)


@pytest.fixture
def made(tmp_path: Path) -> Artifact:
    make_source(tmp_path)
    return make_result(tmp_path)


def reads(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> list[str]:
    """The data files that `work` reads to their ends."""
    read: list[str] = []
    hashed = artifacts.sha256_file
    with monkeypatch.context() as patch:
        patch.setattr(artifacts, "sha256_file", lambda path: (read.append(path.name), hashed(path))[1])
        work()
    return read


@pytest.mark.usefixtures("settled_at_once")
def test_an_unchanged_file_is_read_once(made: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reads(monkeypatch, made.damage) == ["word_0", "word_1"]
    assert reads(monkeypatch, made.damage) == []
    forget(made.root)
    assert reads(monkeypatch, made.damage) == ["word_0", "word_1"]


@pytest.mark.usefixtures("settled_at_once")
def test_opening_a_verified_artifact_writes_nothing(made: Artifact) -> None:
    made.damage()
    before = times(made.root)
    made.damage()
    assert times(made.root) == before


@pytest.mark.usefixtures("settled_at_once")
def test_problems_reads_every_file_every_time(made: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        assert reads(monkeypatch, lambda: list(made.problems())) == ["word_0", "word_1"]


@pytest.mark.parametrize(("later", "trusted"), [(0, 0), (seen.MOMENT_NS, 0), (seen.MOMENT_NS + 1, 2)])
def test_a_file_changed_a_moment_before_it_was_read_is_not_trusted(
    made: Artifact, monkeypatch: pytest.MonkeyPatch, later: int, trusted: int
) -> None:
    """It could change once more within the same tick of the file system's clock."""
    changed = [seen.state_of(made.directory / name).changed_ns for name in FILES]
    clock = iter(changed)
    monkeypatch.setattr(artifacts, "now_ns", lambda: next(clock) + later)
    made.damage()
    assert len(read_seen(made.root, made.path, made.manifest.sha256)) == trusted


def test_a_file_system_that_counts_in_seconds_is_not_trusted() -> None:
    for changed_ns, trusted in ((5 * 10**9, False), (5 * 10**9 + 1, True)):
        state = seen.FileState(1, 2, 3, changed_ns, changed_ns)
        assert seen.settled(state, state, started_ns=10**12) is trusted


def test_a_file_that_changes_while_it_is_read_is_not_trusted(made: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, hashed = seen.now_ns, artifacts.sha256_file

    def touching(path: Path) -> str:
        found = hashed(path)
        os.utime(path)
        return found

    monkeypatch.setattr(artifacts, "now_ns", lambda: clock() + 60 * 10**9)
    monkeypatch.setattr(artifacts, "sha256_file", touching)
    assert made.damage() is None
    assert read_seen(made.root, made.path, made.manifest.sha256) == {}


def flip(file: Path, place: int, mask: int) -> None:
    data = bytearray(file.read_bytes())
    data[place % len(data)] ^= mask
    file.write_bytes(data)


@given(name=st.sampled_from(FILES), place=st.integers(0, 2**20), mask=st.integers(1, 255), keeps_time=st.booleans())
def test_any_flipped_byte_is_noticed_also_under_its_old_modification_time(
    tmp_path_factory: pytest.TempPathFactory, name: str, place: int, mask: int, keeps_time: bool
) -> None:
    root = tmp_path_factory.mktemp("root")
    make_source(root)
    made = make_result(root)
    clock = seen.now_ns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifacts, "now_ns", lambda: clock() + 60 * 10**9)
        assert made.damage() is None and len(read_seen(root, RESULT, made.manifest.sha256)) == 2
    file = made.file(name)
    modified = file.stat().st_mtime_ns
    flip(file, place, mask)
    if keeps_time:
        os.utime(file, ns=(modified, modified))
    damage = made.damage()
    assert damage is not None and damage[0] == f"{RESULT}/{name}"


def test_another_file_of_the_same_size_and_time_in_its_place_is_noticed(made: Artifact, settled_at_once: None) -> None:
    made.damage()
    file = made.file(FILES[0])
    stat, other = file.stat(), file.with_name("other")
    other.write_bytes(b"x" * stat.st_size)
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(file)
    assert made.damage() is not None


@pytest.mark.parametrize("damage", ["removed", "torn", "another manifest", "no JSON"])
def test_a_missing_or_damaged_cache_costs_only_another_verification(
    made: Artifact, settled_at_once: None, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    made.damage()
    entry = next(path for path in (made.root / "cache/seen").rglob("*") if path.is_file())
    if damage == "removed":
        entry.unlink()
    elif damage == "torn":
        entry.write_bytes(entry.read_bytes()[:40])
    elif damage == "no JSON":
        entry.write_bytes(b"{")
    else:
        seen.write_seen(made.root, made.path, "0" * 64, {})
    assert reads(monkeypatch, made.damage) == ["word_0", "word_1"]


def test_another_folder_of_the_same_bytes_is_read_itself(made: Artifact, tmp_path: Path, settled_at_once: None) -> None:
    made.damage()
    copy = tmp_path / "copy"
    for name, data in tree(tmp_path).items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(data)
    flip(copy / RESULT / FILES[1], 3, 1)
    damage = open_artifact(copy, RESULT).damage()
    assert damage is not None and damage[0].endswith(FILES[1])


def test_file_states_on_a_network_file_system_are_not_trusted(
    made: Artifact, settled_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "_KEEP_CHANGE_TIMES", frozenset({"nfs4"}))
    seen._is_trusted.cache_clear()
    try:
        for _ in range(2):
            assert reads(monkeypatch, made.damage) == ["word_0", "word_1"]
    finally:
        seen._is_trusted.cache_clear()
