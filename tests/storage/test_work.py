from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.storage.publish import Target, publish
from megacpp_assets.storage.work import read_work, write_work
from tests.storage.test_publish import make_source


def test_counts_belong_to_one_state_of_an_artifact_and_change_nothing_of_it(tmp_path: Path) -> None:
    first = Target(tmp_path, "stage/part", "stage", "part", "1", {})
    artifact = publish(first, lambda publication, inputs: {"n": 1})
    assert read_work(artifact) == {}
    write_work(artifact, {"units_parsed": 3})
    assert read_work(artifact) == {"units_parsed": 3}
    assert publish(first, lambda publication, inputs: {"n": 1}) == artifact
    second = publish(Target(tmp_path, "stage/part", "stage", "part", "2", {}), lambda publication, inputs: {"n": 1})
    assert read_work(second) == {}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff"])
def test_malformed_counts_are_treated_as_missing(tmp_path: Path, data: bytes) -> None:
    artifact = make_source(tmp_path)
    write_work(artifact, {"parsed": 3})
    (file,) = (tmp_path / "receipts").rglob("*.work.json")
    file.write_bytes(data)
    assert read_work(artifact) == {}
