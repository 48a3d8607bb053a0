"""Documents that several repositories have: in clusters beside the rows, and out of them where the recipe says so."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
import zstandard

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.contract.recipe.documents import MixtureRecipe
from megacpp_assets.packed.stage import PackedRowsSpec, run
from megacpp_assets.quality.packed import check
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import write_lines
from tests.packed.enriched_documents import ABSEIL, FMT, Corpus, document, publish_enriched
from tests.packed.test_stage import _taken
from tests.quality.planting import seal

LINES = [f"int value_{n} = compute_{n}(left_{n}, right_{n});" for n in range(40)]
TEXT = "\n".join(LINES)
NEAR = "\n".join([*LINES[:38], "void changed();"])
OTHER = "\n".join(f"static_assert(sizeof(other_{n}) == {n}, other_name_{n});" for n in range(40))


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> PackedRowsSpec:
    root = tmp_path_factory.mktemp("twice")
    texts = {
        ABSEIL: {"a-text": TEXT, "a-again": TEXT, "a-other": OTHER},
        FMT: {"f-same": TEXT, "f-near": NEAR, "f-short": "int x;"},
    }
    for repo, named in texts.items():
        made = [
            document(repo, name, tokens=90, chunks=3, seed=i, text=text) for i, (name, text) in enumerate(named.items())
        ]
        publish_enriched(root, repo, [made])
    return Corpus(root, {FMT: [], ABSEIL: []}, {}).spec()


def _told(artifact: Artifact) -> list[tuple[str, str, bool]]:
    data = zstandard.ZstdDecompressor().decompress(artifact.file(c.DUPLICATES_FILE).read_bytes())
    lines = [orjson.loads(line) for line in data.splitlines()]
    return [(line["cluster"], line["doc_id"], line["exact"]) for line in lines]


@pytest.mark.parametrize(
    ("duplicates", "left"),
    [
        ("report", {"a-text", "a-again", "a-other", "f-same", "f-near", "f-short"}),
        ("drop_exact", {"a-text", "a-again", "a-other", "f-near", "f-short"}),
        ("drop_near", {"a-text", "a-again", "a-other", "f-short"}),
    ],
)
def test_clusters_are_recorded_and_the_first_repository_keeps_its_documents(
    spec: PackedRowsSpec, duplicates: str, left: set[str]
) -> None:
    artifact = run(replace(spec, duplicates=duplicates))
    assert set(_taken(artifact)) == left
    told = _told(artifact)
    assert [(name, exact) for _, name, exact in told] == [
        ("a-text", False), ("a-again", False), ("f-same", True), ("f-near", False),
    ]  # fmt: skip
    assert {cluster for cluster, *_ in told} == {hashlib.sha256(TEXT.encode()).hexdigest()[:16]}
    assert artifact.manifest.stats["copies_per_repo"] == {ABSEIL.key: 0, FMT.key: 2}
    assert artifact.manifest.stats["duplicate_documents"] == 6 - len(left)
    assert [result.name for result in check(artifact) if not result.passed] == []


def test_duplicates_are_searched_only_if_the_recipe_asks(spec: PackedRowsSpec) -> None:
    artifact = run(spec)
    assert artifact.files("", c.DUPLICATES_FILE) == [] and len(_taken(artifact, TRAIN_SPLIT)) == 6
    with pytest.raises(SpecError, match=r"mixture.duplicates; expected by_catalogue or ignore or .*; found 'drop'"):
        MixtureRecipe(duplicates="drop")


def test_the_check_detects_a_cluster_that_is_not_recorded(spec: PackedRowsSpec, tmp_path: Path) -> None:
    artifact = run(replace(spec, duplicates="report"))
    write_lines(artifact.file(c.DUPLICATES_FILE), [])
    (failed,) = (result for result in check(seal(artifact)) if not result.passed)
    assert failed.name == "duplicates_recorded"
    assert "line 1 is the first that differs: nothing, expected {" in failed.found and "a-text" in failed.found
