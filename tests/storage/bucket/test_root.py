"""Tests of a data root in a bucket: two machines, the real emulator, a proxy that enforces preconditions."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from megacpp_assets.cli import cli
from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import BucketUnreachable, EnvironmentLacks, LineageGap, LostRace, SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.atomic import write_any
from megacpp_assets.storage.bucket import eviction
from megacpp_assets.storage.bucket.binding import is_stored
from megacpp_assets.storage.bucket.objects import ObjectInfo, Objects
from megacpp_assets.storage.bucket.verification import examine_bucket
from megacpp_assets.storage.publish import Target, current_artifact, publish
from megacpp_assets.storage.remote import adopt, lacks, shown_root, store
from megacpp_assets.storage.root.layout import LOCK_FILE, RECEIPTS, REGISTRY, data_root, tokenizer_path
from megacpp_assets.storage.root.lock_file import lock_history, lock_notes, read_lock, update_lock
from megacpp_assets.tokenizer.registry import commit_tokenizer
from tests.storage.bucket.conftest import Shared
from tests.storage.test_publish import RESULT, SOURCE, make_result, make_source, result_target, tree


def store_result(root: Path, version: str = "1", seconds: int = 1) -> Artifact:
    """Make both artifacts and store them, as `execute` does after the checks, which took `seconds`."""
    store(make_source(root))
    made = make_result(root, version)
    write_any(root / RECEIPTS / f"{made.path}.json", b'{"seconds": %d}' % seconds)
    store(made)
    return made


def test_another_machine_reads_a_stored_artifact(shared: Shared) -> None:
    first = shared.machine("a")
    made = store_result(first)
    second = shared.machine("b")
    assert shown_root(second) == shared.uri and second != first
    found = open_artifact(second, RESULT)
    assert found.manifest == made.manifest and not (found.directory / "part/word_0").exists()
    assert current_artifact(result_target(second)) is not None, "it is complete: the bucket has its data"
    assert found.verify().directory == second / RESULT and tree(found.directory) == tree(made.directory)
    assert (second / RECEIPTS / f"{RESULT}.json").read_bytes() == b'{"seconds": 1}'
    assert not lacks(found)


def test_an_artifact_is_stored_once_under_the_hash_of_its_manifest_and_its_reference_is_written_last(
    shared: Shared,
) -> None:
    made = store_result(shared.machine("a"))
    sha256 = made.manifest.sha256
    files = {f"artifacts/{sha256}/{name}" for name in ("manifest.json", "part/word_0", "part/word_1")}
    assert shared.names(f"artifacts/{sha256}") == files
    reference = json.loads(shared.proxy.data(f"{shared.folder}/references/{RESULT}"))
    assert reference["manifest_sha256"] == sha256
    written = [request.name for request in shared.proxy.requests if request.writes]
    assert written[-1] == f"{shared.folder}/references/{RESULT}"


def test_a_second_store_of_the_same_artifact_uploads_nothing(shared: Shared) -> None:
    made = store_result(shared.machine("a"))
    shared.plan(lambda _number, _request: "")
    store(made)
    assert not any("artifacts/" in request.name for request in shared.proxy.requests)


def test_two_machines_that_make_the_same_step_end_with_one_artifact(
    shared: Shared, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = shared.machine("a"), shared.machine("b")
    made = [store_result(first, seconds=1), store_result(second, seconds=2)]
    assert made[0].manifest.sha256 == made[1].manifest.sha256
    assert len({name.split("/")[1] for name in shared.names("artifacts/")}) == 2, "source and result, each once"
    assert "another machine stored the same artifact first" in caplog.text
    assert not lacks(made[1])


def test_a_machine_adopts_what_another_has_made_since_it_opened_the_root(shared: Shared) -> None:
    second = shared.machine("b")
    made = store_result(shared.machine("a"))
    adopt(second, RESULT)
    assert open_artifact(second, RESULT).manifest == made.manifest


def test_another_artifact_at_the_same_path_loses_the_race_and_the_next_open_takes_the_winner(shared: Shared) -> None:
    first, second = shared.machine("a"), shared.machine("b")
    winner = store_result(first, "1")
    with pytest.raises(LostRace, match=r"expected manifest .*; found manifest .*; what to do: run the same command"):
        store_result(second, "2")
    assert open_artifact(shared.machine("b"), RESULT).manifest == winner.manifest


def test_a_newer_artifact_moves_the_reference_for_all_machines(shared: Shared) -> None:
    first, second = shared.machine("a"), shared.machine("b")
    store_result(first, "1")
    shared.machine("b")
    newer = store_result(first, "2")
    assert shared.machine("b") == second
    assert open_artifact(second, RESULT).verify().manifest == newer.manifest


def test_the_cache_evicts_the_least_recently_used_stored_files_only(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shared.machine("a")
    made = store_result(root)
    record = root / ".bucket/references"
    os.utime(record / f"{SOURCE}.json", (1, 1))
    os.utime(record / f"{RESULT}.json", (2, 2))
    monkeypatch.setenv(eviction.SIZE_VARIABLE, str(6000 / 1e9))
    assert eviction.trim(root) == 6000
    assert not (root / SOURCE / "words.txt").exists() and made.damage() is None
    source = open_artifact(root, SOURCE)
    assert source.file("words.txt").read_bytes() == b"one two", "it is fetched when it is read"
    monkeypatch.setenv(eviction.SIZE_VARIABLE, "0")
    newer = make_result(root, "2")
    eviction.trim(root)
    assert newer.damage() is None and (newer.directory / "part/word_0").exists(), "the bucket lacks it"


def test_an_artifact_in_use_stays_in_the_cache(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    root = shared.machine("a")
    made = store_result(root)
    monkeypatch.setenv(eviction.SIZE_VARIABLE, "0")
    assert eviction.trim(root) > 0 and (made.directory / "part/word_0").exists(), "it was used a moment ago"


@pytest.mark.parametrize("value", ["much", "-1", "nan"])
def test_a_malformed_bound_of_the_cache_is_rejected(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(eviction.SIZE_VARIABLE, value)
    with pytest.raises(SpecError, match="expected a number of gigabytes"):
        eviction.cache_limit()


def test_two_machines_change_the_lock_and_no_change_is_lost(shared: Shared) -> None:
    roots = [shared.machine("a"), shared.machine("b")]
    turn = threading.Barrier(2)

    def add(root: Path, dataset: str) -> None:
        tries = iter(range(9))

        def change(lock):  # type: ignore[no-untyped-def]
            if next(tries) == 0:
                turn.wait(180)  # both have read the same state
            return lock.with_corpus(CorpusLock(dataset, "0" * 64))

        update_lock(root, change, {"who": dataset})

    threads = [threading.Thread(target=add, args=each) for each in zip(roots, ("one", "two"), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(read_lock(shared.machine("a")).datasets) == {"one", "two"}
    assert set(read_lock(shared.machine("b")).datasets) == {"one", "two"}
    assert [len(lock.datasets) for _, lock in lock_history(roots[0])] == [1]
    assert lock_notes(roots[0]) == lock_notes(roots[1]) and len(lock_notes(roots[0])) == 1


def test_an_object_changed_by_hand_is_named_and_not_read(shared: Shared) -> None:
    made = store_result(shared.machine("a"))
    name = f"artifacts/{made.manifest.sha256}/part/word_0"
    shared.proxy.change(f"{shared.folder}/{name}", b"other bytes")
    found = open_artifact(shared.machine("b"), RESULT)
    with pytest.raises(LineageGap, match=f"{shared.uri}/{name}; expected sha256 .*; found sha256"):
        found.files("")
    assert not (found.directory / "part/word_0").exists(), "nothing of it is in the cache"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("references/jsonl/set/fmt@11.0.0", b"{}", "expected a reference of format 1"),
        ("references/etc/passwd", b"{}", "expected a reference of format 1"),
        ("lock", b'{"format": 9}', "expected a lock of format 1; found format 9"),
        ("root", b'{"format":2}\n', "what to do: name another folder, or use the release that wrote it"),
    ],
)
def test_a_malformed_object_is_rejected(shared: Shared, name: str, data: bytes, expected: str) -> None:
    store_result(shared.machine("a"))
    shared.proxy.change(f"{shared.folder}/{name}", data)
    with pytest.raises(LineageGap, match=expected):
        shared.machine("b")


def test_a_bucket_that_is_missing_or_denies_access_is_named(shared: Shared) -> None:
    with pytest.raises(BucketUnreachable, match="gs://no-such; expected a bucket; found no such bucket"):
        data_root("gs://no-such/folder")
    shared.plan(lambda _number, _request: "403")
    with pytest.raises(EnvironmentLacks, match="expected permission; found 403"):
        shared.machine("a")


def test_a_bucket_that_does_not_answer_is_named_after_all_retries(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    from megacpp_assets.storage.bucket import objects

    monkeypatch.setattr(objects, "PATIENCE", replace(objects.PATIENCE, retries=0.1))
    shared.plan(lambda _number, _request: "503")
    with pytest.raises(BucketUnreachable, match="expected an answer; found ServiceUnavailable: 503"):
        shared.machine("a")


def test_a_path_whose_reference_was_deleted_is_stored_again(shared: Shared) -> None:
    root = shared.machine("a")
    made = store_result(root)
    assert shared.objects.delete(
        f"references/{RESULT}", shared.proxy.generation(f"{shared.folder}/references/{RESULT}")
    )
    assert shared.machine("a") == root and lacks(made)
    store(made)
    assert is_stored(root, RESULT, made.manifest.sha256) and f"references/{RESULT}" in shared.names()


@pytest.mark.parametrize("uri", ["gs://bucket", "gs://bucket/", "gs://bucket/a/../b", "gs://B/x", "s3://bucket/x"])
def test_a_malformed_uri_is_rejected(uri: str) -> None:
    with pytest.raises(SpecError, match="gs://BUCKET/FOLDER"):
        data_root(uri)


def test_a_folder_whose_name_is_not_ascii_can_be_opened_again(shared: Shared) -> None:
    shared = replace(shared, folder=f"{shared.folder}-données")
    made = store_result(shared.machine("a"))
    assert data_root(shared.uri) == shared.machine("a") == made.root
    assert open_artifact(shared.machine("b"), RESULT).verify()


def test_a_machine_with_an_older_tokenizer_does_not_move_the_branch_of_the_dataset(shared: Shared) -> None:
    first, second = shared.machine("a"), shared.machine("b")
    branch, path = f"{shared.folder}/registry/refs/heads/set", tokenizer_path("set")
    for root in (first, second):
        adopt(root, path)
        commit = commit_tokenizer(root, "set", {"tokenizer.json": str(root).encode()}, sha256_bytes(str(root).encode()))
        store(publish(Target(root, path, "tokenizer", "all", commit, {}), lambda *_: {}))
        assert shared.proxy.data(branch).decode().strip() == commit
    update_lock(first, lambda lock: lock.with_corpus(CorpusLock("one", "0" * 64)))
    assert shared.proxy.data(branch).decode().strip() == commit


def _new_tokenizer(root: Path, text: bytes) -> Artifact:
    """Make a tokenizer of the dataset `set`, which is not stored yet."""
    commit = commit_tokenizer(root, "set", {"tokenizer.json": text}, sha256_bytes(text))
    return publish(Target(root, tokenizer_path("set"), "tokenizer", "all", "1", {"commit": commit}), lambda *_: {})


@pytest.mark.parametrize("writes", range(12))
def test_a_machine_that_stops_between_two_writes_leaves_no_branch_of_an_older_tokenizer(
    shared: Shared, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    root = shared.machine("a")
    store(_new_tokenizer(root, b"old"))
    made, left = _new_tokenizer(root, b"new"), writes
    branch = (root / REGISTRY / "refs/heads/set").read_bytes()

    def stopping(objects: Objects, name: str, data: bytes, generation: int) -> ObjectInfo:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return swap(objects, name, data, generation)

    swap = Objects.swap
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(Objects, "swap", stopping)
        store(made)
    again = open_artifact(shared.machine("a"), made.path)
    if lacks(again):
        store(again)
    assert again.manifest == made.manifest and not lacks(again)
    assert shared.proxy.data(f"{shared.folder}/registry/refs/heads/set") == branch


def test_a_tokenizer_that_lost_the_race_leaves_the_branch_to_the_winner(shared: Shared) -> None:
    first, second = shared.machine("a"), shared.machine("b")
    store(_new_tokenizer(first, b"winner"))
    branch = f"{shared.folder}/registry/refs/heads/set"
    won = shared.proxy.data(branch)
    with pytest.raises(LostRace):
        store(_new_tokenizer(second, b"loser"))
    assert shared.proxy.data(branch) == won


def test_the_lock_of_a_cache_is_that_of_the_bucket(shared: Shared) -> None:
    root = shared.machine("a")
    update_lock(root, lambda lock: lock.with_corpus(CorpusLock("one", "0" * 64)))
    (root / LOCK_FILE).unlink()
    assert set(read_lock(shared.machine("a")).datasets) == {"one"}


def test_verify_reads_every_object_and_names_changed_ones(shared: Shared) -> None:
    root = shared.machine("a")
    update_lock(root, lambda lock: lock.with_corpus(CorpusLock("one", "0" * 64)))
    made = store_result(root)
    whole = list(examine_bucket(shared.uri))
    assert [each.path for each in whole] == ["lock", SOURCE, RESULT]
    assert not any(each.problems for each in whole) and whole[2].bytes == 6000
    name = f"artifacts/{made.manifest.sha256}/part/word_0"
    shared.proxy.change(f"{shared.folder}/{name}", b"other bytes")
    missing = f"artifacts/{made.manifest.sha256}/part/word_1"
    assert shared.objects.delete(missing, shared.proxy.generation(f"{shared.folder}/{missing}"))
    problems = [(file, found) for each in examine_bucket(shared.uri) for file, _, found in each.problems]
    changed = f"sha256 {sha256_bytes(b'other bytes')}"
    assert problems == [(f"{shared.uri}/{name}", changed), (f"{shared.uri}/{missing}", "no such object")]


def test_a_catalogue_cannot_be_added_to_a_bucket(shared: Shared) -> None:
    done = CliRunner().invoke(cli, ["repos", "add", str(shared.place), "--ref", "v1", "--data-root", shared.uri])
    assert isinstance(done.exception, SpecError)
    assert f"expected a folder; found {shared.uri}; what to do: put the entry into a file" in str(done.exception)
