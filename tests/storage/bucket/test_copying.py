"""Tests of copies between roots, and of garbage collection while another machine stores the same artifact."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from megacpp_assets.cli import cli
from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.bucket import collection, transfer
from megacpp_assets.storage.bucket.copying import copy_between_buckets, copy_from_bucket, copy_to_bucket
from megacpp_assets.storage.bucket.verification import examine_bucket
from megacpp_assets.storage.publish import remove_artifact
from megacpp_assets.storage.remote import lacks, store
from megacpp_assets.storage.root.layout import LOCK_FILE, LOCK_HISTORY, RECEIPTS
from megacpp_assets.storage.root.lock_file import update_lock
from tests.storage.bucket.conftest import Shared
from tests.storage.bucket.test_root import store_result
from tests.storage.test_publish import RESULT, SOURCE, make_result, tree

PATHS = [SOURCE, RESULT]
NOW = timedelta(0)


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A data root in a folder: two artifacts with receipts, and a lock with a history."""
    root = tmp_path / "local"
    root.mkdir()
    store_result(root)
    for number in range(3):
        note = {"who": f"change {number}"}
        update_lock(root, lambda lock, number=number: lock.with_corpus(CorpusLock(f"set{number}", "0" * 64)), note)
    return root


def test_a_copy_to_a_bucket_and_back_has_the_same_files(shared: Shared, local: Path, tmp_path: Path) -> None:
    assert list(copy_to_bucket(local, PATHS, shared.uri)) == PATHS
    assert list(copy_to_bucket(local, PATHS, shared.uri)) == [], "a second copy finds all of it"
    assert not any(each.problems for each in examine_bucket(shared.uri))
    back = tmp_path / "back"
    assert list(copy_from_bucket(shared.uri, back)) == PATHS and list(copy_from_bucket(shared.uri, back)) == []
    for name in (*PATHS, RECEIPTS, LOCK_HISTORY, "manifests"):
        assert tree(back / name) == tree(local / name)
    assert (back / LOCK_FILE).read_bytes() == (local / LOCK_FILE).read_bytes()
    other = f"{shared.uri}-copy"
    assert set(copy_between_buckets(shared.uri, other)) == shared.names() and not list(
        copy_between_buckets(shared.uri, other)
    )
    assert not any(each.problems for each in examine_bucket(other))


def test_a_copy_replaces_nothing(shared: Shared, local: Path, tmp_path: Path) -> None:
    store_result(shared.machine("a"), "2")
    with pytest.raises(SpecError, match=r"references/parquet.*; expected nothing, or the same as in the source"):
        list(copy_to_bucket(local, PATHS, shared.uri))
    with pytest.raises(SpecError, match=f"{LOCK_FILE}; expected nothing, or the same"):
        list(copy_from_bucket(shared.uri, local))
    done = CliRunner().invoke(cli, ["copy", str(local), str(tmp_path / "other")])
    assert isinstance(done.exception, SpecError) and "what to do: cp -a" in str(done.exception)


def replaced(shared: Shared) -> tuple[str, Path]:
    """Store a result, then a newer one at its path; return the hash of the first, which no reference names."""
    root = shared.machine("a")
    first = store_result(root, "1")
    store_result(root, "2")
    return first.manifest.sha256, root


def test_gc_deletes_unreferenced_artifacts_after_the_grace_period(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage, root = replaced(shared)
    kept = shared.names() - shared.names(f"artifacts/{garbage}")
    run = CliRunner().invoke
    assert "to delete with --delete: 0 artifacts" in run(cli, ["gc", shared.uri]).output, "it is younger than a week"
    monkeypatch.setattr(collection, "_bucket_time", lambda objects: later(shared))
    assert garbage in run(cli, ["gc", shared.uri]).output and shared.names(f"artifacts/{garbage}")
    assert "deleted: 1 artifacts" in run(cli, ["gc", shared.uri, "--delete"]).output
    assert shared.names() == kept | {"gc"} and f"manifests/{garbage}" in kept
    assert not any(each.problems for each in examine_bucket(shared.uri))
    assert "'--grace-hours': 47 is not in the range x>=48" in run(cli, ["gc", shared.uri, "--grace-hours", "47"]).output
    with pytest.raises(SpecError, match="expected 48 hours or more"):
        collection.open_collection(shared.uri, timedelta(hours=47))
    folder = run(cli, ["gc", str(root)]).exception
    assert isinstance(folder, SpecError) and "expected gs://BUCKET/FOLDER" in str(folder)


def later(shared: Shared):  # type: ignore[no-untyped-def]
    """Return the bucket's time in a month."""
    newest = max(entry.updated for entry in shared.objects.list("").values())
    return newest + timedelta(days=30)


@pytest.mark.parametrize("moment", ["before the upload", "before the reference", "amid the removal"])
def test_gc_removes_nothing_of_an_artifact_that_another_machine_stores_meanwhile(
    shared: Shared, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    garbage, root = replaced(shared)
    remove_artifact(open_artifact(root, RESULT))
    again = make_result(root, "1")
    assert again.manifest.sha256 == garbage and lacks(again)
    found = next(collection.find_unreferenced(shared.objects, NOW))
    assert found.manifest_sha256 == garbage
    announce, in_parallel, calls = transfer.announce, transfer.in_parallel, []
    manifest = f"artifacts/{garbage}/manifest.json"

    def announced(*arguments):  # type: ignore[no-untyped-def]
        calls.append(moment)
        if (len(calls), moment) in ((1, "before the upload"), (2, "before the reference")):
            collection.remove(shared.objects, found)
        if (len(calls), moment) == (1, "amid the removal"):
            shared.objects.delete(manifest, found.objects[manifest].generation)
        return announce(*arguments)

    def uploaded(*arguments):  # type: ignore[no-untyped-def]
        """The upload has listed the data files; they are removed before it, and are tried again after it."""
        for turn in range(2):
            for name, entry in found.objects.items() if moment == "amid the removal" else ():
                shared.objects.delete(name, entry.generation)
            if not turn:
                in_parallel(*arguments)

    monkeypatch.setattr(transfer, "announce", announced)
    monkeypatch.setattr(transfer, "in_parallel", uploaded)
    store(again)
    assert not any(each.problems for each in examine_bucket(shared.uri))
    assert sha256_bytes(shared.proxy.data(f"{shared.folder}/{manifest}")) == garbage
