from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE, TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.packed.blend import shards_of_split
from megacpp_assets.packed.copies.left_out import left_out
from megacpp_assets.packed.stage import run
from megacpp_assets.quality.packed import check
from megacpp_assets.storage.artifact import Artifact
from tests.packed.enriched_documents import ABSEIL, FMT, Corpus, document, publish_enriched

HELD = "int squares(int limit) { int total = 0; for (int i = 0; i < limit; ++i) total += i * i - limit; return total; }"
PADDING = " ".join(f"int other{number}(char *text);" for number in range(30))
LONG = HELD + HELD.replace("squares", "cubes").replace("i * i", "i * i * i")


def _document(repo: RepoRef, name: str, text: str, split: str = TRAIN_SPLIT, role: int = ROOT_ROLE) -> dict[str, Any]:
    part = {"filepath": "a.cc", "byte_start": 0, "byte_end": len(text), "char_start": 0, "char_end": len(text)}
    fields = {c.TEXT: text, c.SPLIT: split, c.CONSTITUENTS: [{**part, "role": role}]}
    return document(repo, name, tokens=20, chunks=1, seed=len(name), **fields)


def _published(root: Path, role: int = ROOT_ROLE) -> tuple[Corpus, list[Artifact]]:
    """fmt trains on a copy of what abseil holds out, on a near copy, and on something else; abseil on its own copy."""
    train = {
        FMT: [
            _document(FMT, "copy", PADDING + LONG.replace(" ", "\n  ")),
            _document(FMT, "near copy", LONG.replace("limit", "n")[:40] + LONG[40:] + PADDING),
            _document(FMT, "something else", PADDING),
        ],
        ABSEIL: [_document(ABSEIL, "own", PADDING.replace("other", "more"))],
    }
    valid = {FMT: [], ABSEIL: [_document(ABSEIL, "held", LONG, VALID_SPLIT, role)]}
    artifacts = [publish_enriched(root, repo, [train[repo]], valid[repo]) for repo in train]
    return Corpus(root, train, valid), artifacts


def _left_out(artifacts: list[Artifact]) -> list[list[bool]]:
    trained, held = (
        [shards_of_split(artifact, [4096], split) for artifact in artifacts] for split in (TRAIN_SPLIT, VALID_SPLIT)
    )
    return [found.tolist() for found in left_out(trained, held, 0.7)]


def test_a_near_duplicate_of_another_repositorys_held_out_root_is_left_out(tmp_path: Path) -> None:
    _, artifacts = _published(tmp_path)
    assert _left_out(artifacts) == [[True, True, False], [False]]


def test_context_of_a_document_that_validates_keeps_nothing_out(tmp_path: Path) -> None:
    _, artifacts = _published(tmp_path, role=CONTEXT_ROLE)
    assert _left_out(artifacts) == [[False, False, False], [False]]


def test_rows_hold_none_of_them_and_the_checks_agree(tmp_path: Path) -> None:
    corpus, _ = _published(tmp_path)
    artifact = run(corpus.spec())
    names = [
        name
        for file in artifact.files(".parquet")
        if file.name.startswith(TRAIN_SPLIT)
        for row in pq.read_table(file)[c.SOURCE_DOC_IDS].to_pylist()
        for name in row
    ]
    assert sorted(names) == ["own", "something else"]
    assert artifact.manifest.stats["left_out_per_repo"] == {ABSEIL.key: 0, FMT.key: 2}
    assert [result for result in check(artifact) if not result.passed] == []
