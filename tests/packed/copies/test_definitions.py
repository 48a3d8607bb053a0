"""Definitions that several repositories have: found with any context, counted, and left out by recipe."""

from __future__ import annotations

import hashlib
import random
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest
import zstandard

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import MixtureRecipe
from megacpp_assets.contract.recipe.rows import PackingRecipe
from megacpp_assets.packed.copies import common_runs
from megacpp_assets.packed.copies.definitions import find_definitions
from megacpp_assets.packed.stage import PackedRowsSpec, run
from megacpp_assets.quality.packed import check
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import write_lines
from tests.packed.enriched_documents import Corpus, document, publish_enriched, table_of
from tests.packed.test_stage import _taken
from tests.quality.planting import seal

A, B, C = (RepoRef(name, "v1") for name in "abc")
Part = tuple[str, int]
"""Text and role."""


def _function(name: str, lines: int = 12) -> str:
    body = "\n".join(f"  total += {name}_{n}(first[{n}], second) * {n};" for n in range(lines))
    return f"int {name}(int *first, int second)\n{{\n  int total = 0;\n{body}\n  return total;\n}}"


COPIED = _function("hash")
CHANGED = COPIED.replace("return total;", "return total + 1;")
INDENTED = COPIED.replace("\n  ", "\n\t\t")
OWN = _function("own", 40)
SHORT = "int size() { return 4; }"
CONTEXT = {repo: "\n".join(f"struct {repo.name}{n} {{ int {repo.name}; }};" for n in range(30)) for repo in (A, B, C)}


def _document(repo: RepoRef, name: str, *parts: Part, path: str = "", tokens: int = 90) -> dict[str, Any]:
    """A document of the context of its repository and of `parts`."""
    text, constituents = "", []
    for number, (part, role) in enumerate([(CONTEXT[repo], CONTEXT_ROLE), *parts]):
        place = {"filepath": path or f"{name}.c", "byte_start": 100 * number, "byte_end": 100 * number + len(part)}
        span = {"char_start": len(text), "char_end": len(text) + len(part)}
        constituents.append({**place, **span, "role": role, "blob": "", "encoding": "utf-8"})
        text += part + "\n"
    fields: dict[str, Any] = {c.TEXT: text, c.CONSTITUENTS: constituents, c.FILEPATH: path or f"{name}.c"}
    return document(repo, name, tokens=tokens, chunks=3, seed=len(name), **fields)


def _root(*texts: str) -> list[Part]:
    return [(text, ROOT_ROLE) for text in texts]


DOCUMENTS = {
    A: [_document(A, "a-hash", *_root(COPIED, SHORT)), _document(A, "a-again", *_root(COPIED))],
    B: [
        _document(B, "b-hash", *_root(CHANGED)),
        _document(B, "b-both", *_root(INDENTED, OWN)),
        _document(B, "b-context", (COPIED, CONTEXT_ROLE), *_root(_function("other"))),
        _document(B, "b-short", *_root(SHORT)),
    ],
    C: [_document(C, "c-hash", *_root(COPIED, SHORT)), _document(C, "c-much", *_root(COPIED, *[SHORT] * 20))],
}


def _spec(root: Path, documents: dict[RepoRef, list[dict[str, Any]]], **fields: Any) -> PackedRowsSpec:
    for repo, made in documents.items():
        publish_enriched(root, repo, [made])
    return replace(Corpus(root, {repo: [] for repo in documents}, {}).spec(), **{"definitions": "report", **fields})


def _clusters(artifact: Artifact) -> list[dict[str, Any]]:
    data = zstandard.ZstdDecompressor().decompress(artifact.file(c.DEFINITIONS_FILE).read_bytes())
    return [orjson.loads(line) for line in data.splitlines()]


def _failed(artifact: Artifact) -> list[str]:
    return [f"{result.name}: {result.found}" for result in check(artifact) if not result.passed]


def test_a_copied_function_is_found_in_another_context(tmp_path: Path) -> None:
    artifact = run(_spec(tmp_path, DOCUMENTS, duplicates="report"))
    fields = _clusters(artifact)
    assert [(each["doc_id"], each["exact"], each["near"]) for each in fields] == [
        ("a-hash", False, False), ("a-again", False, False), ("b-hash", False, True), ("b-both", False, True),
        ("c-hash", True, False), ("c-much", True, False),
    ]  # fmt: skip
    assert {each["cluster"] for each in fields} == {hashlib.sha256(COPIED.encode()).hexdigest()[:16]}
    place = {name: fields[3][name] for name in ("repo", "filepath", "byte_start", "byte_end")}
    assert place == {"repo": "b", "filepath": "b-both.c", "byte_start": 100, "byte_end": 100 + len(INDENTED)}
    stats = artifact.manifest.stats
    assert stats["definitions_per_repo"] == {"a@v1": 2, "b@v1": 4, "c@v1": 2}
    assert stats["definition_copies_per_repo"] == {"a@v1": 0, "b@v1": 2, "c@v1": 2}
    # The contexts differ so much that no two documents are near-duplicates.
    assert stats["copies_per_repo"] == {"a@v1": 0, "b@v1": 0, "c@v1": 0}
    assert _failed(artifact) == []


@pytest.mark.parametrize(
    ("definitions", "left_out"),
    [("report", set()), ("drop_exact", {"c-hash"}), ("drop_near", {"b-hash", "c-hash"})],
)
def test_a_document_of_copies_alone_is_left_out_and_others_stay_whole(
    tmp_path: Path, definitions: str, left_out: set[str]
) -> None:
    artifact = run(_spec(tmp_path, DOCUMENTS, definitions=definitions))
    every = {each[c.DOC_ID] for made in DOCUMENTS.values() for each in made}
    # b-both has a definition of its own, and c-much as much text in definitions that are too short to be compared.
    assert set(_taken(artifact)) == every - left_out
    assert artifact.manifest.stats["definition_documents"] == len(left_out)
    assert _failed(artifact) == []


def test_a_document_that_is_a_copy_itself_is_counted_once(tmp_path: Path) -> None:
    same = _document(A, "same", *_root(COPIED))
    copy = {**same, c.REPO: "b", c.REF: B.ref}
    artifact = run(_spec(tmp_path, {A: [same], B: [copy]}, duplicates="drop_near", definitions="drop_near"))
    stats = artifact.manifest.stats
    assert (stats["duplicate_documents"], stats["definition_documents"], stats["documents"]) == (1, 0, 1)
    assert _failed(artifact) == []


def test_a_copy_that_is_too_long_for_a_row_is_not_written_as_overflow(tmp_path: Path) -> None:
    documents = {
        A: [_document(A, "a-hash", *_root(COPIED))],
        B: [_document(B, "b-hash", *_root(COPIED), tokens=5000), _document(B, "b-own", *_root(OWN), tokens=5000)],
    }
    packing = PackingRecipe(overflow="file")
    artifact = run(_spec(tmp_path, documents, definitions="drop_near", packing=packing))
    assert artifact.manifest.stats["overflow_documents"] == 1 and _failed(artifact) == []


def test_versions_of_one_file_are_no_copies_of_each_other(tmp_path: Path) -> None:
    """Two entries of one project: the function of a commit's document is compared with those of other files alone."""
    v2 = "v2_simple_4096"
    for repo, made in {
        A: {"a-v2": ("hash.c", COPIED)},
        B: {"b-v2": ("hash.c", CHANGED), "b-same": ("hash.c", COPIED), "b-moved": ("x.c", CHANGED)},
    }.items():
        others = [_document(repo, name, *_root(text), path=path) for name, (path, text) in made.items()]
        publish_enriched(
            tmp_path, repo, [[_document(repo, f"{repo.name}-tip", *_root(_function(repo.name)))]], others={v2: others}
        )
    spec = replace(Corpus(tmp_path, {A: [], B: []}, {}).spec(), definitions="report", blend={v2: 1.0})
    of_one = run(replace(spec, projects={"b": "a"}))
    assert [each["doc_id"] for each in _clusters(of_one)] == ["a-v2", "b-moved"] and _failed(of_one) == []
    assert [each["doc_id"] for each in _clusters(run(spec))] == ["a-v2", "b-v2", "b-same", "b-moved"]


def _hashes_of_one(folder: Path) -> list[str]:
    order = random.Random(folder.name).sample(list(DOCUMENTS), len(DOCUMENTS))
    artifact = run(_spec(folder, {repo: DOCUMENTS[repo] for repo in order}, definitions="drop_near"))
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in artifact.files("")]


@pytest.mark.parametrize("workers", [2, *(pytest.param(number, marks=pytest.mark.campaign) for number in (1, 4))])
def test_clusters_and_rows_are_the_same_for_any_number_of_workers_and_any_order(tmp_path: Path, workers: int) -> None:
    expected = _hashes_of_one(tmp_path / "expected")
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        assert list(pool.map(_hashes_of_one, [tmp_path / str(number) for number in range(4)])) == [expected] * 4


def test_definitions_are_searched_only_if_the_recipe_asks(tmp_path: Path) -> None:
    artifact = run(_spec(tmp_path, DOCUMENTS, definitions="ignore"))
    assert artifact.files("", c.DEFINITIONS_FILE) == [] and _failed(artifact) == []
    with pytest.raises(SpecError, match=r"mixture.definitions; expected by_catalogue or ignore or .*; found 'mask'"):
        MixtureRecipe(definitions="mask")


def test_the_check_detects_a_definition_that_is_not_recorded(tmp_path: Path) -> None:
    artifact = run(_spec(tmp_path, DOCUMENTS))
    write_lines(artifact.file(c.DEFINITIONS_FILE), [])
    (failed,) = _failed(seal(artifact))
    assert failed.startswith("duplicates_recorded: line 1 of definitions_train.jsonl.zst differs: nothing, expected {")


def _peak(folder: Path, count: int) -> int:
    """Peak memory in bytes of finding the definitions of two repositories with `count` documents of one each."""
    paths = []
    for repo in (A, B):
        paths.append(folder / f"{repo.name}{count}.parquet")
        texts = (" ".join(f"{repo.name}{number}_{word}" for word in range(60)) for number in range(count))
        made = [_document(repo, str(number), *_root(text)) for number, text in enumerate(texts)]
        pq.write_table(table_of(made), paths[-1], row_group_size=256)
    tracemalloc.start()
    found = find_definitions([[path] for path in paths], 0.7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.exact) == 2 * count
    return peak


def test_memory_grows_by_a_bounded_amount_for_each_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_PAIRS_AT_ONCE", "_PARTITION_RUNS"):
        monkeypatch.setattr(common_runs, name, 1 << 12)
    few, many = _peak(tmp_path, 500), _peak(tmp_path, 2_500)
    assert many - few <= 4_000 * 200


def test_documents_without_definitions_have_no_clusters(tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(table_of([_document(A, "a", (COPIED, CONTEXT_ROLE))]), path)
    found = find_definitions([[path], []], 0.7)
    assert list(found.lines()) == [] and found.removed("drop_near").tolist() == [False]
