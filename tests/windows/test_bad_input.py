"""Histories that go wrong in the ways of real ones: the windows are right, or the counts say what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from megacpp_assets.commits.stage import CommitsSpec, run
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.git import git
from megacpp_assets.repos.pins import pin
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.judge import ChangeRules
from megacpp_assets.versions.records import LineOrigin
from megacpp_assets.windows.build import Sets, WindowBuilder
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph
from tests.commits.repository import DATASET, history_of, listed, make_history
from tests.tokenized.word_encoder import WordEncoder

SCALE = b"int scale(int value) {\n  return clamp(value) * 2;\n}\n"
CLAMP = b"int clamp(int value) { return value; }\n"
USE = b"int use() { return scale(1); }\n"
FILES = 5000


class Made:
    """The windows of a history, by subject of the commit, and what was left out."""

    def __init__(self, artifact: Artifact) -> None:
        commits, recipe = listed(artifact)[::-1], HistoryRecipe()
        self.windows: dict[str, list[Mapping[str, Any]]] = {commit.subject: [] for commit in commits}
        subjects = {commit.commit: commit.subject for commit in commits}

        def emit(_name: str, line: bytes) -> None:
            record = orjson.loads(line)
            self.windows[subjects[record[c.COMMIT]]].append(record)

        origin = LineOrigin(RepoRef("lib", "v1"), lambda names: "MIT", lambda names: False)
        with blob_reader(artifact) as blobs:
            judge = ChangeRules("lib", recipe, FileVersions(blobs, recipe.file_bytes))
            graph, sets = TreeGraph(ParsedBlobs(judge.files)), Sets({"v4_65536": 65_536}, WordEncoder())
            builder = WindowBuilder(artifact.folder(OBJECTS), sets, origin, judge, graph)
            builder.build(commits, emit, lambda _: None)
        self.left_out: Counter[str] = builder.left_out["v4_65536"]

    def neighbours(self, subject: str) -> list[str]:
        """The headings of the first window of a commit."""
        text = self.windows[subject][0][c.TEXT]
        return [line.removeprefix("// === ").removesuffix(" ===") for line in text.splitlines() if "=== CALL" in line]


def test_changes_of_an_octopus_merge_are_in_the_trees_after_it(tmp_path: Path) -> None:
    commits = [
        ("Start", {"scale.cc": SCALE}),
        ("A branch", {"clamp.cc": CLAMP}),
        ("Another branch", {"use.cc": USE}),
        ("Merge three", {"clamp.cc": CLAMP, "use.cc": USE}, (1, 2)),
        ("Scale by three", {"scale.cc": SCALE.replace(b"2", b"3")}),
    ]
    make_history(tmp_path / "lib", commits)
    artifact = history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe())
    assert artifact.manifest.stats["commits_left_out"] == {"merge": 1}
    assert Made(artifact).neighbours("Scale by three") == ["CALLED BY: use (use.cc)", "CALLS: clamp (clamp.cc)"]


def test_a_shallow_clone_has_windows_from_the_first_commit_whose_parent_it_has(tmp_path: Path) -> None:
    commits = [
        ("Start", {"scale.cc": SCALE, "use.cc": USE}),
        ("Add clamp", {"clamp.cc": CLAMP}),
        ("Scale by three", {"scale.cc": SCALE.replace(b"2", b"3")}),
    ]
    make_history(tmp_path / "whole", commits)
    shallow = tmp_path / "lib"
    git("init", "--bare", "--quiet", str(shallow))
    git("fetch", "--quiet", "--depth=2", str(tmp_path / "whole"), "+refs/tags/v1:refs/tags/v1", git_dir=shallow)
    artifact = history_of(shallow, tmp_path / "data", HistoryRecipe(most_commits=0))
    stats = artifact.manifest.stats
    assert (stats["shallow_commits"], stats["commits_left_out"]) == (1, {"parent not fetched": 1})
    made = Made(artifact)
    assert list(made.windows) == ["Scale by three"]
    # The tree of that commit is whole, whichever parents are missing.
    assert made.neighbours("Scale by three") == ["CALLED BY: use (use.cc)", "CALLS: clamp (clamp.cc)"]


def test_a_commit_that_touches_thousands_of_files_is_counted_and_its_tree_is_followed(tmp_path: Path) -> None:
    many = {f"many/f{number}.cc": b"int f%d() { return %d; }\n" % (number, number) for number in range(FILES)}
    commits = [
        ("Start", {"scale.cc": SCALE, "clamp.cc": CLAMP}),
        ("Import", {**many, "use.cc": USE}),
        ("Scale by three", {"scale.cc": SCALE.replace(b"2", b"3")}),
    ]
    make_history(tmp_path / "lib", commits)
    artifact = history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe())
    assert artifact.manifest.stats["commits_left_out"] == {"mass change": 1}
    assert Made(artifact).neighbours("Scale by three") == ["CALLED BY: use (use.cc)", "CALLS: clamp (clamp.cc)"]


def test_a_rewritten_history_is_rejected_by_the_old_pin_and_built_by_a_new_one(tmp_path: Path) -> None:
    upstream, root = tmp_path / "lib", tmp_path / "data"
    make_history(upstream, [("Start", {"scale.cc": SCALE, "use.cc": USE}), ("Old", {"scale.cc": SCALE * 2})])
    entry = CatalogueEntry("lib", str(upstream), "v1", license="MIT")
    old = pin(entry, "v1", root)
    before = run(CommitsSpec(root, DATASET, old, HistoryRecipe()))
    make_history(tmp_path / "new", [("Start", {"scale.cc": SCALE}), ("New", {"scale.cc": SCALE, "clamp.cc": CLAMP})])
    git("fetch", "--quiet", "--force", str(tmp_path / "new"), "+refs/tags/v1:refs/tags/v1", git_dir=upstream)
    with pytest.raises(MegacppError, match=old.commit[:8]):
        run(CommitsSpec(tmp_path / "other", DATASET, old, HistoryRecipe()))
    after = run(CommitsSpec(root, DATASET, pin(entry, "v1", root), HistoryRecipe()))
    assert before.manifest.sha256 != after.manifest.sha256
    assert [commit.subject for commit in listed(after)] == ["New", "Start"]
    assert Made(after).windows.keys() == {"New", "Start"}


def test_the_one_commit_of_a_repository_adds_all_of_its_functions(tmp_path: Path) -> None:
    make_history(tmp_path / "lib", [("Start", {"scale.cc": SCALE, "clamp.cc": CLAMP, "use.cc": USE})])
    made = Made(history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe()))
    names = [record[c.CHUNK_BOUNDARIES][1]["name"] for record in made.windows["Start"]]
    assert sorted(names) == ["clamp", "scale", "use"]


def test_a_history_without_a_modified_function_has_no_window_and_says_why(tmp_path: Path) -> None:
    make_history(
        tmp_path / "lib", [("Start", {"a.h": b"struct A;\n"}), ("Only types", {"a.h": b"struct A { int b; };\n"})]
    )
    made = Made(history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe()))
    assert (sum(map(len, made.windows.values())), made.left_out) == (0, {"no function modified": 2})


def test_a_difference_of_ten_megabytes_costs_its_own_file_only(tmp_path: Path) -> None:
    table = b"const int table[] = {\n" + b"  1,\n" * (2 << 20) + b"};\nint first() { return table[0]; }\n"
    commits = [
        ("Start", {"scale.cc": SCALE, "use.cc": USE, "table.cc": b"int first() { return 1; }\n"}),
        ("A large table", {"table.cc": table, "scale.cc": SCALE.replace(b"2", b"3")}),
        ("Without it", {"table.cc": None, "scale.cc": SCALE.replace(b"2", b"4")}),
    ]
    make_history(tmp_path / "lib", commits)
    artifact = history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe())
    made = Made(artifact)
    for subject in ("A large table", "Without it"):
        assert [record[c.CHUNK_BOUNDARIES][1]["name"] for record in made.windows[subject]] == ["scale"]
        assert made.neighbours(subject) == ["CALLED BY: use (use.cc)"]
    assert artifact.manifest.stats["changes_left_out"] == {file_policy.TOO_LARGE: 2}


def test_a_file_whose_line_ends_flip_has_no_window_of_that_commit_and_is_known_after_it(tmp_path: Path) -> None:
    commits = [
        ("Start", {"scale.cc": SCALE, "use.cc": USE}),
        ("Line ends only", {"scale.cc": SCALE.replace(b"\n", b"\r\n")}),
        ("Scale by three", {"scale.cc": SCALE.replace(b"\n", b"\r\n").replace(b"2", b"3")}),
    ]
    make_history(tmp_path / "lib", commits)
    made = Made(history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe()))
    assert made.windows.get("Line ends only", []) == []
    assert made.neighbours("Scale by three") == ["CALLED BY: use (use.cc)"]
    assert "// Removed:   return clamp(value) * 2;\r\n" in made.windows["Scale by three"][0][c.TEXT]
