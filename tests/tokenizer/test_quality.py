"""The tokenizer's data checks: all pass on what the stage made, and each sees its planted fault."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.quality.reading.tokenizer_sample import CheckedTokenizer, Sample
from megacpp_assets.quality.tokenizer import CHECKS, check
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.root.layout import REGISTRY


@pytest.fixture
def copy(published: Artifact, tmp_path: Path) -> Artifact:
    shutil.copytree(published.root, tmp_path / "data")
    return Artifact(tmp_path / "data", published.path, published.manifest)


def failed(artifact: Artifact) -> set[str]:
    results = check(artifact)
    assert [result.name for result in results] == [check.name for check in CHECKS]
    return {result.name for result in results if not result.passed}


def test_what_the_stage_made_passes_every_check(published: Artifact) -> None:
    assert failed(published) == set()


def test_a_changed_byte_fails_the_lock_check_and_the_registry_check(copy: Artifact) -> None:
    file = copy.file("tokenizer.json")
    file.write_bytes(file.read_bytes().replace(b'"version":"1.0"', b'"version":"1.1"'))
    assert {"lock_matches", "registry_holds_tokenizer"} <= failed(copy)


def test_a_registry_without_the_commit_is_seen(copy: Artifact) -> None:
    shutil.rmtree(copy.root / REGISTRY)
    assert failed(copy) == {"registry_holds_tokenizer"}


def holds(name: str, artifact: Artifact, sample: Sample | None = None) -> bool:
    """Whether the check `name` holds of `artifact`, with `sample` in place of its own."""
    trained = CheckedTokenizer(artifact)
    if sample is not None:
        trained.sample = sample
    return next(check for check in CHECKS if check.name == name).judge(trained).holds


def test_a_manifest_that_asks_for_another_size_is_seen(published: Artifact) -> None:
    config = {**published.manifest.config, "recipe": {"vocabulary_size": 131_072, "whitespace": "strict_runs"}}
    other = dataclasses.replace(published, manifest=dataclasses.replace(published.manifest, config=config))
    assert not holds("vocabulary_size", other)


def test_ids_or_spans_that_differ_from_the_reference_are_seen(published: Artifact) -> None:
    sample = CheckedTokenizer(published).sample
    assert holds("reference_agrees", published, sample)
    for column in ("ids", "char_starts", "char_ends"):
        values = getattr(sample.encoded, column).copy()
        values[5] += 1
        changed = Sample(sample.texts, dataclasses.replace(sample.encoded, **{column: values}))
        assert not holds("reference_agrees", published, changed)


def test_a_lost_byte_is_seen(published: Artifact) -> None:
    sample = CheckedTokenizer(published).sample
    ids = sample.encoded.ids.copy()
    ids[5] = 0
    changed = Sample(sample.texts, dataclasses.replace(sample.encoded, ids=ids))
    assert not holds("round_trip_lossless", published, changed)


@pytest.mark.parametrize("place", [0, 5])
def test_a_special_token_out_of_place_is_seen(published: Artifact, place: int) -> None:
    sample = CheckedTokenizer(published).sample
    ids = sample.encoded.ids.copy()
    ids[place] = np.uint32(3)
    changed = Sample(sample.texts, dataclasses.replace(sample.encoded, ids=ids))
    assert not holds("specials_unforgeable", published, changed)
