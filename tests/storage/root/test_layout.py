"""Tests of the data root's layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.storage.root import layout

REPO, MIXTURE = RepoRef("fmt", "11.0.0"), Mixture("small_cpp", "4k")


def test_every_artifact_has_a_place_of_its_own() -> None:
    places = [
        layout.raw_path(REPO),
        layout.tokenizer_path("set"),
        *(path("set", REPO) for path in (layout.jsonl_path, layout.parquet_path, layout.enriched_path)),
        *(path("set", MIXTURE) for path in (layout.packed_path, layout.megatron_path, layout.checkpoints_path)),
    ]
    assert len(set(places)) == len(places)
    assert layout.parquet_path("set", REPO) == "parquet/set/fmt@11.0.0"
    assert layout.checkpoint_path("set", MIXTURE, 20) == "checkpoints/set/small_cpp/4k/step_00000020"


def test_the_data_root_is_the_argument_then_the_variable_then_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(layout.DATA_ROOT_VARIABLE, raising=False)
    assert layout.data_root() == tmp_path / "data"
    monkeypatch.setenv(layout.DATA_ROOT_VARIABLE, str(tmp_path / "elsewhere"))
    assert layout.data_root() == tmp_path / "elsewhere"
    assert layout.data_root("here") == tmp_path / "here"


def test_a_root_in_another_store_is_rejected() -> None:
    with pytest.raises(SpecError, match="expected a local path, or gs://BUCKET/FOLDER; found s3://bucket/data"):
        layout.data_root("s3://bucket/data")
