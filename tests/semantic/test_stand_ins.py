"""A repository whose tests include another pinned one: parsed with its headers, made anew when its commit moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, RepoPin
from megacpp_assets.contract.lock.removal import Removal
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.curation.stage import CuratedFilesSpec
from megacpp_assets.curation.stage import run as curate
from megacpp_assets.pipeline.steps import step_of
from megacpp_assets.quality.semantic import check
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.semantic.stage import SemanticJsonlSpec, run, target
from megacpp_assets.storage.jsonl import read_records
from megacpp_assets.storage.publish import current_artifact
from tests.repos.git_tree import make_repository
from tests.semantic.sources import EACH_ITS_OWN

LIBRARY = {"include/check/check.h": b"#pragma once\nbool check(bool holds);\n", "LICENSE": b"MIT License\n"}
USER = {"test/a_test.cc": b'#include "check/check.h"\nbool a() { return check(true); }\n', "LICENSE": b"MIT License\n"}


def _pinned(base: Path, root: Path, name: str, files: dict[str, bytes], tag: str = "v1") -> RepoPin:
    make_repository(base / f"{name}-{tag}", files, tag)
    chosen = pin(CatalogueEntry(name, str(base / f"{name}-{tag}"), tag, license="MIT"), tag, root)
    fetch(PinnedReposSpec(root, chosen))
    curate(CuratedFilesSpec(root, "dataset", chosen.partition, chosen.license))
    return chosen


def test_its_headers_are_read_and_their_commit_is_an_input(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    user, library = (_pinned(tmp_path, root, name, files) for name, files in (("user", USER), ("check", LIBRARY)))
    toolchain = find_toolchain()
    alone = SemanticJsonlSpec(
        root, "dataset", user.partition, user.commit, "MIT", EACH_ITS_OWN, toolchain, (DOCUMENT_TOKENS,)
    )
    assert run(alone).manifest.stats["units_errors"] == 1
    spec = replace(alone, stand_ins=(library.partition,), recipe=replace(EACH_ITS_OWN, parsed_documents=1))
    made = run(spec)
    assert made.manifest.stats["units_errors"] == 0
    stats = made.manifest.stats
    assert (stats["documents_parsed"], stats["documents_alone_per_cent"]) == (1, 100.0)
    assert [ref.path for ref in made.manifest.inputs] == [
        "cpp_raw/user@v1",
        "curated/dataset/user@v1",
        "cpp_raw/check@v1",
    ]
    assert {record[c.FILEPATH] for record in read_records(made, DOCUMENT_TOKENS)} == {"test/a_test.cc"}
    assert all(result.passed for result in check(made))
    later = _pinned(tmp_path, root, "check", {**LIBRARY, "include/check/more.h": b"int more;\n"}, "v2")
    assert current_artifact(target(spec)) is not None
    assert current_artifact(target(replace(spec, stand_ins=(later.partition,)))) is None


NAMES = ("user", "check", "other")
PINS = tuple(RepoPin(name, "v1", "refs/tags/v1", "0" * 40, name, "MIT", "") for name in NAMES)


@pytest.mark.parametrize(
    ("removed", "expected"),
    [((), ["check", "other"]), ((Removal("check", "", "its owner asked"),), ["other"])],
)
def test_its_index_waits_for_the_sources_of_those_that_stand_in(
    removed: tuple[Removal, ...], expected: list[str], tmp_path: Path
) -> None:
    recipe = Recipe("dataset", "sample", NAMES, ("4k",), stand_ins={"user": ("check", "other")})
    corpus = Corpus(tmp_path, CorpusLock("dataset", "", removed=removed).reading(PINS), recipe)
    waited = list(step_of(corpus, "semantic_jsonl", "user@v1").waits_for())
    own = ["pinned_repos user@v1", "curated_files user@v1"]
    assert waited == [*own, *(f"pinned_repos {name}@v1" for name in expected)]
    alone = list(step_of(corpus, "semantic_jsonl", "other@v1").waits_for())
    assert alone == ["pinned_repos other@v1", "curated_files other@v1"]
