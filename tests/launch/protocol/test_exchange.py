"""The two kinds of exchange, by one set of sentences; and what travels through them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.errors import LineageGap, OverLimit, SpecError
from megacpp_assets.launch.launcher import Unanswered
from megacpp_assets.launch.protocol.artifact_transfer import receive_artifact, send_artifact
from megacpp_assets.launch.protocol.exchange import Exchange
from megacpp_assets.launch.protocol.job_folder import JobFolder, Lease
from megacpp_assets.launch.protocol.open_exchange import open_exchange
from megacpp_assets.launch.protocol.shared_folder import SharedFolder
from megacpp_assets.storage.artifact import open_artifact
from tests.emulator import emulator, lead_clients_to, url_of
from tests.training.world import publish_tokenizer, tree_hashes


@pytest.fixture(params=["file", "gs"])
def exchange(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Exchange]:
    if request.param == "file":
        yield open_exchange((tmp_path / "an exchange").as_uri())
        return
    with emulator("bucket") as server:
        lead_clients_to(url_of(server), monkeypatch)
        yield open_exchange("gs://bucket/a/place")


def test_what_is_written_is_read_and_overwritten(exchange: Exchange) -> None:
    assert exchange.read("a/b") is None
    for data in (b"one", b"", b"three"):
        exchange.write("a/b", data)
        assert exchange.read("a/b") == data


def test_no_more_is_read_than_was_asked_for(exchange: Exchange) -> None:
    exchange.write("a", b"12345")
    assert exchange.read("a", 5) == b"12345"
    with pytest.raises(OverLimit, match="expected at most 4 bytes"):
        exchange.read("a", 4)


def test_a_file_travels_whole_and_one_of_another_size_is_rejected(exchange: Exchange, tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(data := os.urandom(3_000_000))
    exchange.send("objects/x", tmp_path / "there")
    assert exchange.holds("objects/x", len(data)) and not exchange.holds("objects/x", 3)
    exchange.fetch("objects/x", tmp_path / "here", len(data))
    assert (tmp_path / "here").read_bytes() == data
    for name, size, found in (("objects/x", 7, "3000000 bytes"), ("objects/y", 7, "none")):
        with pytest.raises(LineageGap, match=f"expected a file of 7 bytes; found {found}"):
            exchange.fetch(name, tmp_path / "other", size)


def test_an_artifact_comes_out_as_it_went_in(exchange: Exchange, tmp_path: Path) -> None:
    artifact = publish_tokenizer(tmp_path / "one")
    send_artifact(exchange, artifact)
    for _ in range(2):
        received = receive_artifact(exchange, tmp_path / "other", artifact.path, artifact.manifest.sha256)
        assert received.verify().manifest == artifact.manifest
    assert tree_hashes(tmp_path / "other", artifact.path) == tree_hashes(tmp_path / "one", artifact.path)


@pytest.mark.parametrize("change", [lambda data: data + b" ", lambda data: b"", lambda data: b"[]"])
def test_a_manifest_that_is_not_of_its_hash_is_rejected(tmp_path: Path, change) -> None:  # type: ignore[no-untyped-def]
    exchange, artifact = SharedFolder(tmp_path / "exchange"), publish_tokenizer(tmp_path / "one")
    sha256 = artifact.manifest.sha256
    send_artifact(exchange, artifact)
    exchange.write(f"objects/{sha256}", change(artifact.manifest.to_bytes()))
    with pytest.raises(LineageGap, match=f"expected sha256 {sha256}; found sha256 "):
        receive_artifact(exchange, tmp_path / "other", artifact.path, sha256)
    assert not (tmp_path / "other" / artifact.path).exists()


@pytest.mark.parametrize("sha256", ["../jobs/x", "", "A" * 64, "0" * 63])
def test_what_is_no_hash_names_no_file(tmp_path: Path, sha256: str) -> None:
    with pytest.raises(LineageGap, match="expected the sha256 of a manifest"):
        receive_artifact(SharedFolder(tmp_path), tmp_path / "root", "tokenizer/x", sha256)


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "a/../../outside", "", "a\0b"])
def test_a_file_that_would_lie_outside_the_artifact_is_rejected(tmp_path: Path, name: str) -> None:
    exchange = SharedFolder(tmp_path / "exchange")
    entry = {"name": name, "bytes": 1, "sha256": sha256_bytes(b"x"), "rows": None}
    manifest = {
        "format": 1,
        "stage": "s",
        "partition": "p",
        "fingerprint": "f",
        "config": {},
        "inputs": [],
        "stats": {},
    }
    data = canonical_json({**manifest, "files": [entry], "version": "1"})
    exchange.write(f"objects/{sha256_bytes(data)}", data)
    exchange.write(f"objects/{sha256_bytes(b'x')}", b"x")
    with pytest.raises(LineageGap, match="expected names of files within it"):
        receive_artifact(exchange, tmp_path / "root", "tokenizer/x", sha256_bytes(data))
    assert not (tmp_path / "root").exists()


def test_a_transfer_that_breaks_off_leaves_nothing_sealed(tmp_path: Path) -> None:
    exchange, artifact = SharedFolder(tmp_path / "exchange"), publish_tokenizer(tmp_path / "one")
    send_artifact(exchange, artifact)
    (tmp_path / "exchange/objects" / artifact.manifest.files[-1].sha256).unlink()
    with pytest.raises(LineageGap, match="found none"):
        receive_artifact(exchange, tmp_path / "other", artifact.path, artifact.manifest.sha256)
    assert not (tmp_path / "other" / artifact.path).exists()
    send_artifact(exchange, artifact)
    receive_artifact(exchange, tmp_path / "other", artifact.path, artifact.manifest.sha256)
    assert open_artifact(tmp_path / "other", artifact.path).verify()


@pytest.mark.parametrize(
    "uri", ["", "/folder", "file://host/folder", "file:///", "gs://", "s3://bucket/x", "gs://b/x?a"]
)
def test_a_place_of_another_kind_is_rejected(uri: str) -> None:
    with pytest.raises(SpecError, match="expected file:///FOLDER or gs://BUCKET/FOLDER"):
        open_exchange(uri)


def test_a_bucket_that_gives_no_answer_is_one_that_may_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "none")
    monkeypatch.setattr("megacpp_assets.launch.protocol.bucket._RETRY", None)
    with pytest.raises(Unanswered, match="gs://bucket/x"):
        open_exchange("gs://bucket/x").write("a", b"")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"beat": 1}'])
def test_a_malformed_record_of_an_attempt_is_named(tmp_path: Path, data: bytes) -> None:
    post = JobFolder(SharedFolder(tmp_path), "megacpp-x", 3)
    post.write_lease(Lease(1, 2, 3))
    assert post.read_lease() == Lease(1, 2, 3)
    post.exchange.write("jobs/megacpp-x/3/lease.json", data)
    with pytest.raises(LineageGap, match="expected the lease of an attempt"):
        post.read_lease()
