"""Invariants of `semantic_jsonl` on generated trees: `make test` tries a few fixed trees, `make fuzz` many new ones."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from megacpp_assets.compute.executors.select import WORKERS_VARIABLE
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.documents import STRATEGIES, HoldoutRecipe
from megacpp_assets.quality.semantic import check
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.semantic.stage import run
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import read_records
from tests.semantic.generated_trees import Tree, trees
from tests.semantic.repositories import semantic_spec

EXAMPLES = settings().max_examples // 10
"""A tree costs two CPU seconds: a process per stage, and a parse of each file."""
REQUIRED = {"nothing_left_out", "nothing_reduced"}
"""Warnings in general, but no document of a generated tree may break a rule."""


def artifact_of(files: dict[str, bytes], strategy: str, folder: Path) -> Artifact:
    """`semantic_jsonl` of a repository of `files`, of which about a third is held out."""
    spec = semantic_spec(folder, folder / "data", find_toolchain(), files=files)
    return run(replace(spec, recipe=replace(spec.recipe, strategy=strategy), holdout=HoldoutRecipe(share=0.3)))


def assert_invariants(artifact: Artifact, tree: Tree) -> None:
    """All blocking checks pass, no document was rejected, and each mark is in a document or on the skip list."""
    failed = [result for result in check(artifact) if not result.passed]
    assert [result for result in failed if result.blocking or result.name in REQUIRED] == []
    texts = [record[c.TEXT] for record in read_records(artifact, DOCUMENT_TOKENS)]
    skipped = pq.read_table(artifact.file("skipped.parquet")).to_pylist()
    assert all(row["reason"] for row in skipped)
    lost = [
        (path, mark)
        for mark in tree.marks
        if not any(str(mark) in text for text in texts)
        for path, data in tree.files.items()
        if (place := data.find(str(mark).encode())) >= 0
        and not any(row["filepath"] == path and row["byte_start"] <= place < row["byte_end"] for row in skipped)
    ]
    assert lost == []


@pytest.mark.timeout(1800)  # `make fuzz` reduces a failing tree to the smallest one, which takes minutes.
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(tree=trees())
def test_a_generated_tree_keeps_the_invariants_of_the_stage(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv(WORKERS_VARIABLE, "1")
        strategy = STRATEGIES[len(tree.marks) % len(STRATEGIES)]
        assert_invariants(artifact_of(tree.files, strategy, Path(name).resolve()), tree)
