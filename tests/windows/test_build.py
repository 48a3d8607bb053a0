"""Windows of a small history: the target is whole, neighbours come in order, and each tree is that of its commit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.repos.git import git
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.judge import ChangeRules
from megacpp_assets.versions.records import LineOrigin
from megacpp_assets.windows import trees
from megacpp_assets.windows.build import Sets, WindowBuilder
from megacpp_assets.windows.code_graph import DefinitionPlace
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph
from megacpp_assets.windows.trees import tree_changes
from tests.commits.repository import history_of, listed, make_history
from tests.tokenized.word_encoder import WordEncoder, token_count

SCALE = b"""LIB_BEGIN_NAMESPACE
namespace lib {
LIB_API int scale(int value) {
  return clamp(value) * 2;
}
}
LIB_END_NAMESPACE
"""
CLAMP = b"int clamp(int value) { return value < 0 ? 0 : value; }\n"
USES = b"".join(b"int use_%d() { return lib::scale(%d); }\n" % (number, number) for number in range(10))
TEST = b"TEST(scale, works) {\n  EXPECT_EQ(scale(1), 2);\n}\n"
LONG = b"void longest() {\n" + b"  scale(1);\n" * 2000 + b"}\n"
FACTOR = SCALE.replace(b"* 2", b"* factor()")
COMMITS: list[tuple[str, Mapping[str, bytes | None]]] = [
    ("Start", {"src/scale.cc": SCALE, "src/clamp.cc": CLAMP, "uses.cc": USES}),
    ("Bump version to 2", {"test/scale_test.cc": TEST, "held.cc": b"int held() { return scale(3); }\n"}),
    ("Scale by a factor", {"src/scale.cc": FACTOR, "src/factor.cc": b"int factor() { return 3; }\n"}),
    ("Only a comment", {"src/scale.cc": b"// scales\n" + FACTOR}),
    ("Many clamps", {f"c{number}.cc": CLAMP + b"int n%d() { return 0; }\n" % number for number in range(3)}),
    ("Call it", {"src/scale.cc": FACTOR.replace(b"return", b"value += 1;\n  return"), "uses.cc": USES + LONG}),
    ("One side is not UTF-8", {"src/clamp.cc": CLAMP + b"// \xff\n"}),
    ("Delete the test", {"test/scale_test.cc": None}),
]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    directory = tmp_path_factory.mktemp("upstream") / "lib"
    make_history(directory, COMMITS)
    return history_of(directory, tmp_path_factory.mktemp("data"), HistoryRecipe())


class Built:
    """Records by set and subject of the commit, and the builder."""

    def __init__(self, artifact: Artifact, limits: Mapping[str, int], recipe: HistoryRecipe) -> None:
        self.records: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        commits = listed(artifact)[::-1]
        self.subjects = {commit.commit: commit.subject for commit in commits}
        origin = LineOrigin(RepoRef("lib", "v1"), lambda names: "MIT", lambda names: "held.cc" in names)
        with blob_reader(artifact) as blobs:
            judge = ChangeRules("lib", recipe, FileVersions(blobs, recipe.file_bytes))
            graph = TreeGraph(ParsedBlobs(judge.files))
            self.builder = WindowBuilder(artifact.folder(OBJECTS), Sets(limits, WordEncoder()), origin, judge, graph)
            self.builder.build(
                commits, lambda name, line: self.records[name].append(orjson.loads(line)), lambda _: None
            )

    def window(self, subject: str, function: str, name: str = "v4_65536") -> Mapping[str, Any]:
        """The window of a function of a commit."""
        return next(
            record for record in self.records[name]
            if self.subjects[record[c.COMMIT]] == subject and record[c.CHUNK_BOUNDARIES][1]["name"] == function
        )  # fmt: skip


@pytest.fixture(scope="module")
def built(history: Artifact) -> Built:
    return Built(history, {"v4_16384": 120, "v4_65536": 65_536}, HistoryRecipe())


def test_a_window_shows_the_change_in_the_whole_function_then_its_neighbours(built: Built) -> None:
    text = built.window("Scale by a factor", "lib::scale")[c.TEXT]
    assert text.startswith(
        "// File: src/scale.cc\n// Scale by a factor\n// === MODIFIED FUNCTION: lib::scale ===\n"
        "LIB_API int scale(int value) {\n// Removed:   return clamp(value) * 2;\n  return clamp(value) * factor();\n}\n"
        "// === CALLED BY: TEST(scale, works) (test/scale_test.cc) ===\nTEST(scale, works) {\n"
    )
    order = [line.split()[3] + line.split()[4] for line in text.splitlines() if line.startswith("// === CALL")]
    # Of eight near callers one is held out; then what it calls, then the other callers.
    assert order == [
        "BY:TEST(scale,", *(f"BY:use_{number}" for number in range(6)), "clamp(src/clamp.cc)", "factor(src/factor.cc)",
        *(f"BY:use_{number}" for number in range(6, 10)),
    ]  # fmt: skip


def test_a_shorter_window_is_a_prefix_that_ends_with_a_chunk_and_keeps_to_its_tokens(built: Built) -> None:
    short, long = (built.window("Scale by a factor", "lib::scale", name) for name in ("v4_16384", "v4_65536"))
    assert len(short[c.TEXT]) < len(long[c.TEXT])
    assert long[c.TEXT].startswith(short[c.TEXT])
    assert len(short[c.TEXT]) in {chunk["char_end"] for chunk in long[c.CHUNK_BOUNDARIES]}
    assert token_count(short[c.TEXT]) <= 120


def test_edges_lead_from_callers_to_the_target_and_from_it_to_callees(built: Built) -> None:
    record = built.window("Call it", "lib::scale")
    names = [chunk["name"] for chunk in record[c.CHUNK_BOUNDARIES]]
    edges = {(names[edge["caller_idx"]], names[edge["callee_idx"]]) for edge in record[c.CALL_EDGES]}
    # Four files define clamp by then, so that name tells nothing.
    assert edges == {("uses.cc", "lib::scale"), ("test/scale_test.cc", "lib::scale"), ("lib::scale", "src/factor.cc")}
    documents_table([record])


def test_a_bare_name_refers_to_the_method_of_the_callers_class(tmp_path: Path) -> None:
    code = b"void A::clear() { x = 1; }\nvoid B::clear() {}\nvoid A::load() { clear(); }\nvoid C::go() { a.clear(); }\n"
    make_history(tmp_path / "lib", [("Start", {"a.cc": code})])
    built = Built(
        history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe()), {"v4_65536": 65_536}, HistoryRecipe()
    )
    text = built.window("Start", "B::clear")[c.TEXT]
    assert ("// === CALLED BY: C::go" in text, "A::load" in text) == (True, False)


def test_functions_without_a_window_are_counted_by_rule(built: Built) -> None:
    assert built.builder.left_out["v4_65536"] == {
        "no function modified": 2,  # a comment, a deleted file
        "no caller or callee found": 6,
        "unknown encoding": 1,
    }
    assert built.builder.context_left_out == {"held-out file": 2, "over the tokens of one caller or callee": 1}


def test_windows_of_a_commit_are_bounded_and_a_denied_symbol_is_in_none(history: Artifact) -> None:
    recipe = HistoryRecipe(most_windows=1, denied_symbols=("lib:uses.cc:use_3", "lib:src/factor.cc:factor"))
    built = Built(history, {"v4_16384": 16_384}, recipe)
    assert built.builder.left_out["v4_16384"]["over the windows of a commit"] > 0
    assert all("use_3" not in record[c.TEXT] for record in built.records["v4_16384"])
    assert built.builder.context_left_out["denied symbol"] > 0


def test_a_target_over_the_budget_is_left_out_of_that_set_only(history: Artifact) -> None:
    built = Built(history, {"v4_16384": 16, "v4_65536": 65_536}, HistoryRecipe())
    assert built.builder.left_out["v4_16384"]["modified function over the budget"] > 0
    assert built.builder.left_out["v4_65536"]["modified function over the budget"] == 0


def test_a_graph_that_follows_the_trees_is_the_graph_of_the_last_tree(
    history: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_BLOCK_COMMITS", 2)
    commits = [commit.commit for commit in listed(history)[::-1]]
    with blob_reader(history) as blobs:
        parsed = ParsedBlobs(FileVersions(blobs, 1 << 20))
        followed, anew = TreeGraph(parsed), TreeGraph(parsed)
        for changes in tree_changes(history.folder(OBJECTS), commits, 1 << 20, Counter()):
            followed.apply(changes)
        for changes in tree_changes(history.folder(OBJECTS), commits[-1:], 1 << 20, Counter()):
            anew.apply(changes)
    assert followed.files == anew.files
    assert "test/scale_test.cc" not in followed.files
    for place in (
        DefinitionPlace(path, number) for path, (_, found) in anew.files.items() for number in range(len(found))
    ):
        assert list(followed.callers(place)) == list(anew.callers(place))
        assert list(followed.callees(place)) == list(anew.callees(place))


def test_files_that_are_too_large_or_missing_are_counted_and_not_in_the_tree(tmp_path: Path) -> None:
    make_history(tmp_path, [("Start", {"a.cc": CLAMP, "large.cc": LONG, "lost.cc": SCALE, "note.md": b"x"})])
    head, lost = (git("rev-parse", name, git_dir=tmp_path).decode().strip() for name in ("main", "main:lost.cc"))
    (tmp_path / "objects" / lost[:2] / lost[2:]).unlink()
    left_out: Counter[str] = Counter()
    (changes,) = tree_changes(tmp_path, [head], 1000, left_out)
    assert left_out == {"missing blob": 1, "over the size limit": 1}
    assert [change.path for change in changes if change.blob] == ["a.cc"]
