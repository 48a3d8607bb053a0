"""Tests of reading artifacts: nothing is opened without its seal, and every changed file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact, find_artifact, open_artifact
from megacpp_assets.storage.publish import Target, publish

PATH = "parquet/set/fmt@11.0.0"


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    target = Target(tmp_path, PATH, "tokenized_parquet", "fmt@11.0.0", "1", {})

    def produce(publication, _inputs):  # type: ignore[no-untyped-def]
        publication.write("shard_00000.parquet", b"rows" * 100, rows=4)
        publication.write("val_shard.parquet", b"rows")
        publication.write("notes.txt", b"text")
        return {}

    return publish(target, produce)


def test_a_flipped_byte_names_its_file(artifact: Artifact) -> None:
    file = artifact.file("shard_00000.parquet")
    data = bytearray(file.read_bytes())
    data[123] ^= 1
    file.write_bytes(data)
    assert [name for name, _, _ in artifact.problems()] == [f"{PATH}/shard_00000.parquet"]
    with pytest.raises(LineageGap, match=r"shard_00000\.parquet; expected sha256"):
        artifact.verify()


def test_a_shorter_or_missing_file_is_named(artifact: Artifact) -> None:
    artifact.file("val_shard.parquet").write_bytes(b"row")
    artifact.file("notes.txt").unlink()
    assert {name.rpartition("/")[2]: found for name, _, found in artifact.problems()} == {
        "val_shard.parquet": "3 bytes",
        "notes.txt": "no such file",
    }


def test_files_are_found_through_the_manifest_not_the_directory(artifact: Artifact) -> None:
    (artifact.directory / "stray.parquet").write_bytes(b"not ours")
    assert [file.name for file in artifact.files(".parquet")] == ["shard_00000.parquet", "val_shard.parquet"]
    with pytest.raises(LineageGap, match=r"a file stray\.parquet"):
        artifact.file("stray.parquet")


@pytest.mark.parametrize("name", [COMPLETE_FILE, MANIFEST_FILE])
def test_without_seal_or_manifest_there_is_no_artifact(artifact: Artifact, name: str) -> None:
    (artifact.directory / name).unlink()
    with pytest.raises(LineageGap, match=PATH):
        open_artifact(artifact.root, PATH)
    assert find_artifact(artifact.root, PATH) is None


@pytest.mark.parametrize("name", [COMPLETE_FILE, MANIFEST_FILE])
def test_a_seal_of_another_manifest_is_rejected(artifact: Artifact, name: str) -> None:
    file = artifact.directory / name
    data = bytearray(file.read_bytes())
    data[5] ^= 1
    file.write_bytes(data)
    with pytest.raises(LineageGap, match=r"manifest\.json; expected sha256"):
        open_artifact(artifact.root, PATH)


@pytest.mark.parametrize(("seal", "found"), [("", "an empty file"), ("half of a ha", "'half of a ha'")])
def test_a_malformed_seal_is_named_and_not_the_manifest(artifact: Artifact, seal: str, found: str) -> None:
    (artifact.directory / COMPLETE_FILE).write_text(seal)
    with pytest.raises(LineageGap, match=rf"{COMPLETE_FILE}; expected the sha256 of {MANIFEST_FILE}; found {found}"):
        open_artifact(artifact.root, PATH)
