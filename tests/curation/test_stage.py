"""Stage `curated_files` over a real repository: what is dropped has a reason and a count, and the checks hold."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.contract.recipe.curation import BENCHMARK_ACTIONS, CurationRecipe
from megacpp_assets.contract.sources.curated import ANSWERS_FILE, DECISIONS_FILE, FINDS_FILE
from megacpp_assets.curation.licensing import scancode
from megacpp_assets.curation.stage import CuratedFilesSpec, run, target
from megacpp_assets.quality.curation import check
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.curated import curated_files, masked_answers, replaced_spans
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.parquet import read_table
from megacpp_assets.storage.publish import current_artifact
from megacpp_assets.storage.root.layout import raw_path
from tests.repos.git_tree import make_repository

_FILES = {
    "LICENSE": b"Apache License, Version 2.0\n",
    "src/good.cc": b"// Adds.\nint add(int a, int b) { return a + b; }\n" * 6,
    "src/table.cc": b"int table[] = {" + b"0, " * 600 + b"0};\n",
    "src/mail.cc": b"// Ask jane@corp-mail.com about it.\nint ask(int question) { return question; }\n" * 6,
    "third_party/good.cc": b"// Adds.\nint add(int a, int b) { return a + b; }\n" * 6,
    "third_party/x/COPYING": b"GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991\n",
    "third_party/x/copied.c": b"int copied(void) { return 1; }\n" * 12,
}


@pytest.fixture
def spec(tmp_path: Path) -> CuratedFilesSpec:
    """`pinned_repos` of a repository with a folder of another licence, done."""
    make_repository(tmp_path / "upstream", _FILES)
    (tmp_path / "data").mkdir()
    chosen = pin(CatalogueEntry("lib", str(tmp_path / "upstream"), "v1"), "v1", tmp_path / "data")
    fetch(PinnedReposSpec(tmp_path / "data", chosen))
    return CuratedFilesSpec(tmp_path / "data", "d", chosen.partition, chosen.license)


def test_by_default_every_file_is_kept_and_rules_are_reported(spec: CuratedFilesSpec) -> None:
    made = run(spec)
    stats = made.manifest.stats
    assert (stats["files"], stats["files_dropped"]) == (5, 0)
    assert stats["licenses"] == {"Apache-2.0": 4, "GPL-2.0-only": 1}
    assert stats["files_by_rule"]["long_line"] == 1
    assert (stats["clusters"], stats["files_in_clusters"]) == (1, 2)
    assert (stats["finds_by_rule"], stats["finds_replaced"]) == ({"email": 6}, 0)
    assert replaced_spans(made) == {}
    assert all(result.passed for result in check(made))
    assert current_artifact(target(spec)) is not None


def test_what_lists_and_rules_drop_is_left_out_with_its_reason(spec: CuratedFilesSpec) -> None:
    recipe = CurationRecipe(licenses_denied=("GPL-*",), quality_rules=("long_line",), copies="drop_exact")
    made = run(replace(spec, recipe=recipe))
    rows = {row["filepath"]: row for row in read_table(made.file(DECISIONS_FILE)).to_pylist()}
    decided = {path: (row["decision"], row["reason"], row["detail"]) for path, row in rows.items()}
    assert decided == {
        "src/good.cc": ("keep", "", ""),
        "src/mail.cc": ("keep", "", ""),
        "src/table.cc": ("drop", "quality rule", "long_line"),
        "third_party/good.cc": ("drop", "copy of another file", "src/good.cc"),
        "third_party/x/copied.c": ("drop", "licence not permitted", "GPL-2.0-only"),
    }
    assert made.manifest.stats["dropped_by_reason"] == {
        "copy of another file": 1,
        "licence not permitted": 1,
        "quality rule": 1,
    }
    assert all(result.passed for result in check(made))
    raw = fetch(
        PinnedReposSpec(
            spec.root, pin(CatalogueEntry("lib", str(spec.root.parent / "upstream"), "v1"), "v1", spec.root)
        )
    )
    skipped = {file.path: file.skipped for file in curated_files(source_files(raw), made) if file.language}
    assert skipped == {path: row["reason"] for path, row in rows.items()}


def test_a_recipe_that_drops_every_file_fails_a_check_that_names_the_reasons(spec: CuratedFilesSpec) -> None:
    made = run(replace(spec, recipe=CurationRecipe(licenses_denied=("*",))))
    (failed,) = (result for result in check(made) if not result.passed and result.blocking)
    assert failed.name == "files_are_kept"
    assert failed.found == "0 of 5; dropped because of: licence not permitted 5"


def test_secrets_are_replaced_wherever_the_blob_is_read_and_reports_do_not_hold_them(spec: CuratedFilesSpec) -> None:
    made = run(replace(spec, recipe=CurationRecipe(secrets="replace")))
    raw = open_artifact(spec.root, raw_path(spec.repo))
    blob = next(file.blob for file in source_files(raw) if file.path == "src/mail.cc")
    with blob_reader(raw, replaced_spans(made)) as blobs:
        assert blobs.read(blob) == _FILES["src/mail.cc"].replace(b"jane@corp-mail.com", b"xxxx@xxxx-xxxx.xxx")
    finds = read_table(made.file(FINDS_FILE)).to_pylist()
    assert [(row["filepath"], row["line"]) for row in finds] == [("src/mail.cc", line) for line in range(1, 13, 2)]
    assert "corp-mail" not in str(finds) and made.manifest.stats["finds_replaced"] == 6
    assert all(result.passed for result in check(made))


def test_a_detector_that_is_not_installed_is_an_error_and_not_a_silent_pass(
    spec: CuratedFilesSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(scancode.PYTHON_VARIABLE, "/no/such/python")
    with pytest.raises(EnvironmentLacks, match=r"MEGACPP_SCANCODE_PYTHON.*scancode-toolkit==32.5.0"):
        run(replace(spec, recipe=CurationRecipe(license_detector="scancode")))


def test_a_benchmark_item_is_reported_masked_or_dropped_as_the_recipe_says(spec: CuratedFilesSpec) -> None:
    path = spec.root / "evalx.jsonl"
    solution = "\n".join(f"int step_{n}(int a) {{ return a * {n} + {n}; }}" for n in range(4))
    path.write_text(json.dumps({"id": "7", "canonical_solution": solution}) + "\n")
    line = f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"
    before = b"// caf\xc3\xa9\nint other(int value) { return value; }\n"
    make_repository(spec.root.parent / "other", {**_FILES, "src/answer.cc": before + solution.encode() + b"\n"}, "v2")
    chosen = pin(CatalogueEntry("lib", str(spec.root.parent / "other"), "v2"), "v2", spec.root)
    fetch(PinnedReposSpec(spec.root, chosen))
    found = {}
    for action in BENCHMARK_ACTIONS:
        recipe = CurationRecipe(benchmarks=(line,), benchmark_action=action)
        made = run(replace(spec, repo=chosen.partition, recipe=recipe))
        assert [result for result in check(made) if not result.passed] == []
        (row,) = read_table(made.file(ANSWERS_FILE)).to_pylist()
        assert (row["filepath"], row["item"], row["line"]) == ("src/answer.cc", "evalx:7", 3)
        assert (row["byte_start"], row["byte_end"]) == (len(before), len(before) + len(solution))
        stats = made.manifest.stats
        assert (stats["benchmark_items_found"], stats["files_by_benchmark"]) == (1, {"evalx": 1})
        found[action] = stats["files_dropped"], stats["benchmark_places_masked"], masked_answers(made)
    place = {"src/answer.cc": [(len(before), len(before) + len(solution), "evalx:7")]}
    assert found == {"report": (0, 0, {}), "mask": (0, 1, place), "drop": (1, 0, {})}


def test_generated_files_are_searched_for_secrets_and_are_no_copies_of_others(tmp_path: Path) -> None:
    functions = (b"int add%d(int a, int b) { return a * %d + b; }\n" % (each, each) for each in range(90))
    code = b"// Ask jane@corp-mail.com about it.\n" + b"".join(functions)
    files = {"LICENSE": b"Apache License, Version 2.0\n", "a.cc": code, "made.cc": b"// @generated\n" + code}
    make_repository(tmp_path / "upstream", files)
    (tmp_path / "data").mkdir()
    chosen = pin(CatalogueEntry("lib", str(tmp_path / "upstream"), "v1"), "v1", tmp_path / "data")
    fetch(PinnedReposSpec(tmp_path / "data", chosen))
    stats = run(CuratedFilesSpec(tmp_path / "data", "d", chosen.partition, chosen.license)).manifest.stats
    assert (stats["finds_by_rule"], stats["clusters"]) == ({"email": 2}, 0)
