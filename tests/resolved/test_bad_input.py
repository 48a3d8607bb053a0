"""Histories that go wrong in the ways of real ones: v5 has the right windows, or the counts say what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from megacpp_assets.commits.stage import CommitsSpec, run
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources import file_policy
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.git import git
from megacpp_assets.repos.pins import pin
from megacpp_assets.storage.artifact import Artifact
from tests.commits.repository import DATASET, Files, history_of, make_history
from tests.resolved.following import pool
from tests.resolved.test_build import ALONE_CC, FAR_CC, LIB_CC, LIB_H, USE_CC, Built

SET = "v5_65536"
START = {"lib.h": LIB_H, "lib.cc": LIB_CC, "use.cc": USE_CC}
CRLF = LIB_CC.replace(b"\n", b"\r\n")
LIKE_REAL: Sequence[tuple[str, Files] | tuple[str, Files, tuple[int, ...]]] = [
    ("Root", START),
    ("A branch", {"far.cc": FAR_CC}),
    ("Another branch", {"alone.cc": ALONE_CC}),
    ("Merge three", {"far.cc": FAR_CC, "alone.cc": ALONE_CC}, (1, 2)),
    ("Line ends only", {"lib.cc": CRLF}),
    ("Scale by three", {"lib.cc": CRLF.replace(b"* 2", b"* 3")}),
    ("Not UTF-8", {"use.cc": USE_CC + b"// \xff\n"}),
    ("UTF-8 again", {"use.cc": USE_CC}),
    ("Use it twice", {"use.cc": USE_CC.replace(b"scale(1)", b"scale(2)")}),
    ("A file becomes a directory", {"lib.cc": None, "lib.cc/lib.cc": LIB_CC.replace(b"* 2", b"* 4")}),
]


def _made(artifact: Artifact, store: Path) -> tuple[dict[str, list[str]], Built]:
    """The names of the targets by subject of the commit."""
    with pool() as executor:
        built = Built(artifact, store, executor)
    names: dict[str, list[str]] = defaultdict(list)
    for line in built.lines[SET]:
        record = orjson.loads(line)
        names[built.subjects[record[c.COMMIT]]].append(record[c.CHUNK_BOUNDARIES][1]["name"])
    return dict(names), built


def test_each_commit_of_a_history_that_goes_wrong_has_its_windows(tmp_path: Path) -> None:
    make_history(tmp_path / "lib", LIKE_REAL)
    artifact = history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe())
    assert artifact.manifest.stats["commits_left_out"] == {"merge": 1}
    names, built = _made(artifact, tmp_path / "cache")
    assert names == {
        "Root": ["scale", "Job::run"],
        "A branch": ["far"],
        "Scale by three": ["scale"],
        "Use it twice": ["Job::run"],
        "A file becomes a directory": ["scale"],
    }
    assert "// Removed:   return value * 2;\r\n" in built.window("Scale by three", "scale")[c.TEXT]
    # Its file is one that the merge brought, and its callee is in a file whose line ends flipped.
    twice = built.window("Use it twice", "Job::run")[c.TEXT]
    assert "=== CALLED BY: far (far.cc)" in twice and "return value * 3;\r\n" in twice
    left_out = built.left_out[SET]
    assert (left_out[file_policy.NOT_UTF8], left_out["white space only"]) == (2, 1)


def test_a_shallow_clone_has_windows_from_the_first_commit_whose_parent_it_has(tmp_path: Path) -> None:
    make_history(tmp_path / "whole", [("Start", START), ("More", {"far.cc": FAR_CC}), LIKE_REAL[4], LIKE_REAL[5]])
    shallow = tmp_path / "lib"
    git("init", "--bare", "--quiet", str(shallow))
    git("fetch", "--quiet", "--depth=2", str(tmp_path / "whole"), "+refs/tags/v1:refs/tags/v1", git_dir=shallow)
    artifact = history_of(shallow, tmp_path / "data", HistoryRecipe(most_commits=0))
    assert artifact.manifest.stats["commits_left_out"] == {"parent not fetched": 1}
    names, built = _made(artifact, tmp_path / "cache")
    assert names == {"Scale by three": ["scale"]}
    assert "=== CALLED BY: Job::run (use.cc)" in built.window("Scale by three", "scale")[c.TEXT]


def test_the_one_commit_of_a_repository_adds_all_of_its_functions(tmp_path: Path) -> None:
    make_history(tmp_path / "lib", [("Start", {**START, "alone.cc": ALONE_CC})])
    names, built = _made(history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe()), tmp_path / "cache")
    assert names == {"Start": ["scale", "Job::run"]}
    assert built.left_out[SET]["no caller or callee found"] >= 1


def test_a_history_without_a_modified_function_has_no_window_and_says_why(tmp_path: Path) -> None:
    commits = [("Start", {"a.h": b"struct A;\n"}), ("Only types", {"a.h": b"struct A { int b; };\n"})]
    make_history(tmp_path / "lib", commits)
    names, built = _made(history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe()), tmp_path / "cache")
    assert (names, built.left_out[SET]) == ({}, {"no function modified": 2})


def test_a_rewritten_history_is_rejected_by_the_old_pin_and_built_by_a_new_one(tmp_path: Path) -> None:
    upstream, root, store = tmp_path / "lib", tmp_path / "data", tmp_path / "cache"
    make_history(upstream, [("Start", START), ("Old", {"lib.cc": LIB_CC.replace(b"2", b"5")})])
    entry = CatalogueEntry("lib", str(upstream), "v1", license="MIT")
    old = pin(entry, "v1", root)
    names, _ = _made(run(CommitsSpec(root, DATASET, old, HistoryRecipe())), store)
    assert names["Old"] == ["scale"]
    make_history(tmp_path / "new", [("Start", START), ("New", {"lib.cc": LIB_CC.replace(b"2", b"6")})])
    git("fetch", "--quiet", "--force", str(tmp_path / "new"), "+refs/tags/v1:refs/tags/v1", git_dir=upstream)
    with pytest.raises(MegacppError, match=old.commit[:8]):
        run(CommitsSpec(tmp_path / "other", DATASET, old, HistoryRecipe()))
    # What the cache has of the commit that is gone is in no window.
    names, built = _made(run(CommitsSpec(root, DATASET, pin(entry, "v1", root), HistoryRecipe())), store)
    assert names == {"Start": ["scale", "Job::run"], "New": ["scale"]}
    assert not any(b"* 5" in line for line in built.lines[SET])
