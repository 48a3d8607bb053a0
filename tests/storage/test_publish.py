"""Tests of publishing: absent or complete at every moment, the same bytes after a crash, no needless work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.lineage.whole import read_all
from megacpp_assets.storage.artifact import Artifact, find_artifact, open_artifact
from megacpp_assets.storage.publish import Publication, Target, current_artifact, publish
from megacpp_assets.storage.root.history import HISTORY, kept_manifest
from megacpp_assets.storage.root.layout import seen_cache_path
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY
from tests.forks import forked
from tests.storage.crash import run_killed_at

SOURCE = "jsonl/set/fmt@11.0.0"
RESULT = "parquet/set/fmt@11.0.0"


_PLACES = pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.campaign)])
"""Every fourth file operation, or each one."""


def source_target(root: Path, words: str = "one two") -> Target:
    return Target(root, SOURCE, "semantic_jsonl", "fmt@11.0.0", "1", {"words": words})


def result_target(root: Path, version: str = "1", **config: Any) -> Target:
    return Target(root, RESULT, "tokenized_parquet", "fmt@11.0.0", version, config, (SOURCE,))


def make_source(root: Path, words: str = "one two") -> Artifact:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        publication.write("words.txt", words.encode())
        return {}

    return publish(source_target(root, words), produce)


def make_result(root: Path, version: str = "1", **config: Any) -> Artifact:
    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        words = inputs[0].file("words.txt").read_text().split()
        for index, word in enumerate(words):
            publication.write(f"part/word_{index}", word.encode() * 1000, rows=1)
        return {"words": len(words)}

    return publish(result_target(root, version, **config), produce)


def tree(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def times(directory: Path) -> dict[str, int]:
    """When each file was last written, but for word of who held a lock last, and for what is known of files: those that
    were read within a moment of their making are not known yet."""
    aside = {directory / LOCKS_DIRECTORY, directory / seen_cache_path().partition("/")[0]}
    files = (path for path in directory.rglob("*") if not aside & {path, *path.parents})
    return {str(path): path.stat().st_mtime_ns for path in files}


def test_an_artifact_holds_its_files_a_manifest_and_the_manifest_s_hash(tmp_path: Path) -> None:
    source, result = make_source(tmp_path), make_result(tmp_path)
    assert sorted(tree(result.directory)) == [COMPLETE_FILE, MANIFEST_FILE, "part/word_0", "part/word_1"]
    assert result.manifest.inputs == (source.reference,)
    assert (result.directory / COMPLETE_FILE).read_text().strip() == result.manifest.sha256
    assert open_artifact(tmp_path, RESULT).manifest == result.manifest
    assert list(result.problems()) == []


def test_a_rerun_over_unchanged_inputs_touches_no_file(tmp_path: Path) -> None:
    make_source(tmp_path), make_result(tmp_path)
    before = times(tmp_path)
    assert make_result(tmp_path) == open_artifact(tmp_path, RESULT)
    assert times(tmp_path) == before


@pytest.mark.parametrize("change", ["version", "config", "input", "size", "bit"])
def test_every_setting_that_decides_the_bytes_makes_the_artifact_stale(tmp_path: Path, change: str) -> None:
    make_source(tmp_path)
    old = make_result(tmp_path)
    if change == "input":
        make_source(tmp_path, "three four five")
    if change == "size":
        (old.directory / "part/word_0").write_bytes(b"short")
    if change == "bit":
        (old.directory / "part/word_0").write_bytes(b"onf" + b"one" * 999)
    version, config = "2" if change == "version" else "1", {"limit": 4096} if change == "config" else {}
    assert current_artifact(result_target(tmp_path, version, **config)) is None
    new = make_result(tmp_path, version, **config)
    assert current_artifact(result_target(tmp_path, version, **config)) == new
    assert list(new.problems()) == []


@pytest.mark.parametrize("name", ["part/word_1", MANIFEST_FILE, COMPLETE_FILE])
def test_a_damaged_artifact_is_named_and_built_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    make_source(tmp_path)
    made = make_result(tmp_path)
    whole, file = tree(made.directory), made.directory / name
    file.write_bytes(b"\0" + file.read_bytes()[1:])
    assert tree(make_result(tmp_path).directory) == whole
    assert [f"damaged and made again: {RESULT}/{name}" in message for message in caplog.messages] == [True]
    caplog.clear()
    make_result(tmp_path)
    assert caplog.messages == []


def test_the_same_work_gives_the_same_bytes_in_any_root(tmp_path: Path) -> None:
    roots = (tmp_path / "a", tmp_path / "a/much/longer/path/to/a/root")
    for root in roots:
        make_source(root), make_result(root)
    assert tree(roots[0] / RESULT) == tree(roots[1] / RESULT)


@_PLACES
def test_a_crash_at_any_file_operation_leaves_no_partial_artifact_complete(tmp_path: Path, every: int) -> None:
    make_source(tmp_path / "calm")
    wanted = tree(make_result(tmp_path / "calm").directory)
    event = 0
    while True:
        root = tmp_path / f"crash{event}"
        make_source(root)
        killed = run_killed_at(event, lambda root=root: make_result(root))
        found = find_artifact(root, RESULT)
        assert found is None or (list(found.problems()) == [] and tree(found.directory) == wanted)
        assert tree(make_result(root).directory) == wanted
        if not killed:
            break
        event += every
    assert event > 15


@_PLACES
def test_a_crash_while_replacing_never_leaves_old_data_under_a_seal(tmp_path: Path, every: int) -> None:
    event = 0
    while True:
        root = tmp_path / f"crash{event}"
        make_source(root), make_result(root)
        old = tree(root / RESULT)
        killed = run_killed_at(event, lambda root=root: make_result(root, "2"))
        found = find_artifact(root, RESULT)
        if found is not None:
            assert list(found.problems()) == []
            assert tree(found.directory) == old or current_artifact(result_target(root, "2")) == found
        assert list(make_result(root, "2").problems()) == []
        if not killed:
            break
        event += every
    assert event > 20


def test_each_file_is_durable_before_it_is_named_and_the_seal_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_source(tmp_path)
    log: list[tuple[str, str]] = []
    fsync, replace = os.fsync, Path.replace

    def spy_fsync(descriptor: int) -> None:
        log.append(("fsync", os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))))
        fsync(descriptor)

    def spy_replace(source: Path, final: Path) -> Path:
        log.append(("rename", final.name))
        return replace(source, final)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(Path, "replace", spy_replace)
    kept = make_result(tmp_path).manifest.sha256
    folder = "fmt@11.0.0"
    own = [step for step in log if kept not in step[1] and step[1] != HISTORY]
    assert log.index(("fsync", HISTORY)) < log.index(("rename", MANIFEST_FILE)), "a manifest is kept before it is named"
    assert own == [
        step
        for name, parent in (("word_0", "part"), ("word_1", "part"), (MANIFEST_FILE, folder), (COMPLETE_FILE, folder))
        for step in (("fsync", f".{name}.tmp"), ("rename", name), ("fsync", parent))
    ]


def test_a_stage_that_fails_leaves_nothing_complete(tmp_path: Path) -> None:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        publication.write("first", b"whole")
        with publication.file("second") as pending:
            pending.path.write_bytes(b"half")
            raise OSError("disk full")

    make_source(tmp_path), make_result(tmp_path)
    with pytest.raises(OSError, match="disk full"):
        publish(result_target(tmp_path, "2"), produce)
    assert find_artifact(tmp_path, RESULT) is None
    assert not (tmp_path / RESULT / "second").exists()


def test_a_stage_that_writes_two_files_of_one_name_fails(tmp_path: Path) -> None:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        publication.write("words.txt", b"one")
        publication.write("words.txt", b"two")
        return {}

    with pytest.raises(LineageGap, match=r"words\.txt; expected one file of this name; found two"):
        publish(source_target(tmp_path), produce)
    assert not (tmp_path / SOURCE).exists()


def test_a_manifest_that_was_removed_from_the_history_is_kept_again_before_its_artifact_is_replaced(
    tmp_path: Path,
) -> None:
    first = make_source(tmp_path)
    (tmp_path / HISTORY / first.manifest.sha256).unlink()
    make_source(tmp_path, "other words")
    assert kept_manifest(tmp_path, first.manifest.sha256) == (SOURCE, first.manifest.to_bytes())


def test_a_changed_input_is_rejected_by_name(tmp_path: Path) -> None:
    source = make_source(tmp_path)
    source.file("words.txt").write_bytes(b"one tw0")
    with pytest.raises(LineageGap, match=r"jsonl/set/fmt@11.0.0/words.txt"):
        make_result(tmp_path)
    assert find_artifact(tmp_path, RESULT) is None


def test_a_missing_input_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(LineageGap, match=SOURCE):
        make_result(tmp_path)


def test_of_two_processes_at_once_one_works_and_both_find_the_same(tmp_path: Path) -> None:
    make_source(tmp_path)
    calls = tmp_path / "calls"
    calls.mkdir()

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        (calls / str(os.getpid())).touch()
        for index in range(50):
            publication.write(f"file_{index}", inputs[0].file("words.txt").read_bytes())
        return {}

    def work() -> None:
        publish(result_target(tmp_path), produce)

    children = [forked(work) for _ in range(4)]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert len(list(calls.iterdir())) == 1
    assert list(open_artifact(tmp_path, RESULT).problems()) == []


def test_a_step_that_fails_removes_the_receipt_with_the_earlier_artifact(tmp_path: Path) -> None:
    """An artifact that is not made again is missing, not damaged: nothing says that it should be there."""
    make_source(tmp_path)
    receipt = tmp_path / "receipts" / f"{SOURCE}.json"
    receipt.parent.mkdir(parents=True)
    receipt.write_text("{}")

    def fail(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        raise SpecError("documents", expected="at least one", found="none")

    with pytest.raises(SpecError):
        publish(source_target(tmp_path, "other words"), fail)
    assert find_artifact(tmp_path, SOURCE) is None
    assert not receipt.exists() and list(read_all(tmp_path)) == []
