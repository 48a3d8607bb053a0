"""Finding the tokenizer behind an artifact by its manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.megatron.vocabulary import vocabulary_size_of
from megacpp_assets.packed.stage import run as pack
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from tests.packed.enriched_documents import FMT, documents, publish_enriched, publish_tokenizer, small_corpus


def _publish(root: Path, path: str, stage: str, inputs: tuple[str, ...], stats: dict[str, Any]) -> Artifact:
    def produce(publication: Publication, found: tuple[Artifact, ...]) -> dict[str, Any]:
        publication.write("data", path.encode())
        return stats

    return publish(Target(root, path, stage, "p", "1", {}, inputs), produce)


def test_the_tokenizer_is_reached_through_every_repository(tmp_path: Path) -> None:
    assert vocabulary_size_of(pack(small_corpus(tmp_path).spec())) == 9000


def test_a_tokenizer_that_was_replaced_since_is_rejected(tmp_path: Path) -> None:
    packed = pack(small_corpus(tmp_path).spec())
    publish_tokenizer(tmp_path, vocabulary_size=8192)
    with pytest.raises(LineageGap, match="tokenizer/tiny_4k; expected manifest"):
        vocabulary_size_of(packed)


def test_two_tokenizers_of_one_artifact_are_rejected(tmp_path: Path) -> None:
    for name, size in (("a", 100), ("b", 200)):
        _publish(tmp_path, name, "tokenizer", (), {"vocabulary_size": size})
    both = _publish(tmp_path, "both", "packed_rows", ("a", "b"), {})
    with pytest.raises(LineageGap, match="exactly one tokenizer in its chain; found 2"):
        vocabulary_size_of(both)


def test_an_artifact_without_a_tokenizer_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(LineageGap, match="found 0"):
        vocabulary_size_of(_publish(tmp_path, "a", "packed_rows", (), {}))


def test_a_tokenizer_that_does_not_say_its_size_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(LineageGap, match="vocabulary_size"):
        vocabulary_size_of(_publish(tmp_path, "a", "tokenizer", (), {"vocabulary_size": "many"}))


def test_a_missing_link_is_named(tmp_path: Path) -> None:
    enriched = publish_enriched(tmp_path, FMT, [documents(FMT, 2, seed=1)])
    (tmp_path / "parquet" / "tiny_4k" / FMT.key / "_COMPLETE").unlink()
    with pytest.raises(LineageGap, match=f"parquet/tiny_4k/{FMT.key}"):
        vocabulary_size_of(enriched)
