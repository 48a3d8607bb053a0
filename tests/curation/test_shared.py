"""Copies across repositories: which are one cluster, which stays, and that the list leaves out the others."""

from __future__ import annotations

import hashlib
import random
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.compute.shingles import shingles
from megacpp_assets.contract.errors import DiskFailure, SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.curation import CurationRecipe
from megacpp_assets.contract.sources.curated import DECISIONS_FILE
from megacpp_assets.curation.copies import Copies, signature
from megacpp_assets.curation.copies_list import SharedCopy, dump_copies, load_copies
from megacpp_assets.curation.shared import find_shared, shared_copies
from megacpp_assets.curation.shared_index import SharedFile, open_index
from megacpp_assets.curation.stage import CuratedFilesSpec, run, target
from megacpp_assets.quality.curation import check
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.storage.parquet import read_table
from megacpp_assets.storage.publish import current_artifact
from tests.repos.git_tree import make_repository


def _text(name: str, statements: int = 40) -> str:
    lines = (f"  if ({name}{i} > {i}) {{ {name}_total += {name}{i} * {i}; }}" for i in range(statements))
    return f"int {name}() {{\n" + "\n".join(lines) + "\n}\n"


TEXTS = {"1": _text("inflate"), "2": _text("inflate").replace("inflate39", "changed"), "3": _text("other")}
FILES = [
    SharedFile("app", "third_party/zlib/inflate.c", "2"),
    SharedFile("app", "src/own.c", "3"),
    SharedFile("tool", "src/inflate.c", "1"),
    SharedFile("tool", "src/again.c", "1"),
    SharedFile("zlib", "zlib/inflate.c", "1"),
]


def _copies(files: list[SharedFile], order: list[str]) -> dict[tuple[str, str], str]:
    copies = Copies()
    for blob in order:
        copies.add(blob, TEXTS[blob])
    made = shared_copies(files, copies, TEXTS.__getitem__, 0.7)
    assert len({copy.cluster for copy in made}) <= 1
    return {(copy.repo, copy.path): copy.stays for copy in made}


@pytest.mark.parametrize("seed", range(3))
def test_the_copy_of_the_project_itself_stays_in_any_order(seed: int) -> None:
    files, order = list(FILES), list(TEXTS)
    random.Random(seed).shuffle(files)
    random.Random(seed).shuffle(order)
    assert _copies(files, order) == {
        ("app", "third_party/zlib/inflate.c"): "zlib:zlib/inflate.c",
        ("tool", "src/inflate.c"): "zlib:zlib/inflate.c",
        ("tool", "src/again.c"): "zlib:zlib/inflate.c",
        ("zlib", "zlib/inflate.c"): "",
    }


def test_equal_files_that_are_too_short_to_be_compared_are_copies() -> None:
    """As those of a fork. A text of a few tokens that differs is no copy."""
    texts = {"4": "int a;\n", "5": "int b;\n"}
    files = [SharedFile("sds", "alloc.h", "4"), SharedFile("fork", "alloc.h", "4"), SharedFile("fork", "own.h", "5")]
    copies = Copies()
    for blob, text in texts.items():
        copies.add(blob, text)
    made = {(copy.repo, copy.path): copy.stays for copy in shared_copies(files, copies, texts.__getitem__, 0.7)}
    assert made == {("fork", "alloc.h"): "", ("sds", "alloc.h"): "fork:alloc.h"}


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.campaign)])
def test_many_nearly_equal_texts_are_one_cluster_in_any_order(count: int) -> None:
    copies, numbers = Copies(), list(range(count))
    values = signature(shingles(TEXTS["1"]))
    random.Random(0).shuffle(numbers)
    for number in numbers:
        copies.add_signature(f"{number:040}", values)
    files = [SharedFile("zlib" if number == 7 else "app", f"inflate{number}.c", f"{number:040}") for number in numbers]
    made = shared_copies(files, copies, lambda blob: TEXTS[str(1 + int(blob) % 2)], 0.7)
    assert len({copy.cluster for copy in made}) == 1 and len(made) == len(files)
    assert Counter(copy.stays for copy in made) == {"": count - 1, "app:inflate0.c": 1}


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.campaign)])
def test_a_chain_of_copies_is_followed_once(count: int) -> None:
    with open_index() as index:
        pairs = ((f"{number + 1:040}", f"{number:040}") for number in range(count))
        index._database.executemany("INSERT INTO parents VALUES (?, ?)", pairs)
        assert {index._least(f"{number:040}") for number in range(count, 0, -1)} == {"0" * 40}


def test_copies_inside_one_repository_are_not_shared() -> None:
    assert _copies(FILES[1:4], list(TEXTS)) == {}


def test_a_copy_in_a_folder_with_a_version_does_not_stay() -> None:
    others = [SharedFile("large", f"src/{number}.c", "3") for number in range(9)]
    files = [SharedFile("large", "test/gtest-1.11.0/gmock.c", "1"), SharedFile("gtest", "gmock.c", "2"), *others]
    assert _copies(files, list(TEXTS)) == {
        ("large", "test/gtest-1.11.0/gmock.c"): "gtest:gmock.c",
        ("gtest", "gmock.c"): "",
    }


def test_a_held_out_file_stays_before_the_project_itself() -> None:
    held = SharedFile("exam", "vendor/inflate.c", "2", first=True)
    made = _copies([*FILES, held], list(TEXTS))
    assert made["zlib", "zlib/inflate.c"] == "exam:vendor/inflate.c" and made["exam", "vendor/inflate.c"] == ""


def _curated(root: Path, name: str, files: dict[str, str], ref: str = "v1") -> CuratedFilesSpec:
    make_repository(root / "upstream" / name / ref, {path: text.encode() for path, text in files.items()}, ref)
    chosen = pin(CatalogueEntry(name, str(root / "upstream" / name / ref), ref), ref, root / "data")
    fetch(PinnedReposSpec(root / "data", chosen))
    return CuratedFilesSpec(root / "data", "d", chosen.partition, chosen.license)


def test_a_list_leaves_out_copies_and_makes_nothing_else_stale(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    zlib = _curated(tmp_path, "zlib", {"inflate.c": TEXTS["1"]})
    app = _curated(tmp_path, "app", {"deps/inflate.c": TEXTS["2"], "own.c": TEXTS["3"]})
    alone = _curated(tmp_path, "alone", {"alone.c": _text("alone")})
    specs = [zlib, app, alone]
    for each in specs:
        run(each)
    found = find_shared(zlib.root, [("d", each.repo, False) for each in specs], 0.7)
    assert [(copy.repo, copy.path, copy.stays) for copy in found] == [
        ("app", "deps/inflate.c", "zlib:inflate.c"),
        ("zlib", "inflate.c", ""),
    ]
    path = tmp_path / "copies.jsonl"
    path.write_bytes(dump_copies(found))
    line = f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"
    listed = [replace(each, recipe=CurationRecipe(shared_copies=(line,))) for each in specs]
    assert current_artifact(target(listed[2])) is not None, "no line is about this repository"
    made = run(listed[1])
    rows = {row["filepath"]: row for row in read_table(made.file(DECISIONS_FILE)).to_pylist()}
    assert rows["deps/inflate.c"]["reason"] == "copy of a file of another repository"
    assert rows["deps/inflate.c"]["detail"] == "zlib:inflate.c" and rows["deps/inflate.c"]["shared_cluster"]
    assert rows["own.c"]["decision"] == "keep" and [result for result in check(made) if not result.passed] == []
    assert made.manifest.stats["shared_copies_found"] == 1
    again = find_shared(zlib.root, [("d", each.repo, False) for each in reversed(specs)], 0.7)
    assert again == found, "a list is the same after it was applied, and for repositories in another order"


def test_stored_signatures_and_a_new_repository_give_what_all_give_from_nothing(tmp_path: Path) -> None:
    files = {"zlib": {"inflate.c": TEXTS["1"]}, "app": {"deps/inflate.c": TEXTS["2"]}, "tool": {"x.c": TEXTS["1"]}}

    def found(folder: Path, names: list[str]) -> list[SharedCopy]:
        specs = [_curated(folder, name, files[name]) for name in names if not (folder / "upstream" / name).exists()]
        for each in specs:
            run(each)
        repos = [RepoRef(name, "v1") for name in sorted(names)]
        return find_shared(folder / "data", [("d", repo, False) for repo in repos], 0.7)

    for folder in (tmp_path / "grown", tmp_path / "whole"):
        (folder / "data").mkdir(parents=True)
    assert len(found(tmp_path / "grown", ["zlib", "app"])) == 2
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "grown" / "data" / "curated").rglob("*.parquet")}
    grown = found(tmp_path / "grown", ["zlib", "app", "tool"])
    assert all(path.stat().st_mtime_ns == changed for path, changed in stored.items()), "nothing was curated again"
    assert grown == found(tmp_path / "whole", ["tool", "app", "zlib"]) and len(grown) == 3


def test_a_listed_copy_that_the_commit_lacks_is_counted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = _curated(tmp_path, "app", {"own.c": TEXTS["3"]})
    path = tmp_path / "copies.jsonl"
    path.write_bytes(dump_copies([SharedCopy("c", "app", "own.c", "another blob", "zlib:inflate.c")]))
    line = f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"
    made = run(replace(app, recipe=CurationRecipe(shared_copies=(line,))))
    assert (made.manifest.stats["files_dropped"], made.manifest.stats["shared_copies_outdated"]) == (0, 1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"cluster": "c"}', "line 1; expected a JSON object with the texts cluster, repo, path, blob, stays"),
        ("[]", "line 1; expected a JSON object"),
        ("no JSON", "line 1; expected a JSON object"),
        ('{"cluster": "c", "repo": "r", "path": "p", "blob": "b", "stays": 1}', "line 1; expected a JSON object"),
    ],
)
def test_a_list_with_a_wrong_line_is_rejected(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "copies.jsonl"
    path.write_text(text)
    with pytest.raises(SpecError, match=sentence):
        load_copies(hashlib.sha256(text.encode()).hexdigest(), str(path))


def test_a_list_that_is_missing_or_changed_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"expected a readable file; found No such file.*megacpp copies --write"):
        load_copies("0" * 64, str(tmp_path / "copies.jsonl"))
    (tmp_path / "copies.jsonl").write_text("")
    with pytest.raises(SpecError, match="expected sha256 0000"):
        load_copies("0" * 64, str(tmp_path / "copies.jsonl"))


def test_a_full_disk_is_named_and_a_fault_of_ours_is_not_called_one() -> None:
    values = signature(shingles(TEXTS["1"]))
    with pytest.raises(DiskFailure, match="TMPDIR"), open_index() as index:
        index._database.execute("PRAGMA max_page_count = 20")
        for number in range(10_000):
            index.add_content(f"{number:040}", 0, values)
    with pytest.raises(sqlite3.OperationalError, match="no such table"), open_index() as index:
        index._database.execute("SELECT * FROM nowhere")
