"""The scratch folder that follows trees: what the compiler finds there is the tree of the commit, and nothing else."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.resolved.mentions import TreeIdentifiers
from megacpp_assets.resolved.tree import ScratchTree, compiled_change
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.windows.trees import TreeChange, tree_changes
from tests.commits.repository import Files, history_of, listed, make_history

COMMITS: list[tuple[str, Files]] = [
    ("Start", {"place.h": b"int a;\n", "deep/x/y.h": b"int y;\n", "CMakeLists.txt": b"project(p)\n", "note.md": b"n"}),
    (
        "The file becomes a folder",
        {"place.h": None, "place.h/in.h": b"int b;\n", "deep/x/y.h": None, "z.cc": b"int z;\n"},
    ),
    ("And a file again", {"place.h/in.h": None, "place.h": b"int c;\n", "z.cc": b"int zz;\n"}),
]


def _files(folder: Path) -> dict[str, bytes]:
    paths = [Path(where, name) for where, _, names in os.walk(folder) for name in names]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_the_folder_holds_each_tree_in_turn(tmp_path: Path) -> None:
    make_history(tmp_path / "lib", COMMITS)
    artifact = history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe())
    ids = [commit.commit for commit in listed(artifact)[::-1]]
    folder = tmp_path / "tree"
    folder.mkdir()
    scratch, seen = ScratchTree(folder), []
    with blob_reader(artifact) as blobs:
        for changes in tree_changes(artifact.folder(OBJECTS), ids, 1 << 20, Counter(), compiled_change):
            scratch.apply(changes, blobs)
            assert _files(folder).keys() == scratch.files.keys()
            seen.append(_files(folder))
    rules = {"CMakeLists.txt": b"project(p)\n"}
    assert seen == [
        rules | {"place.h": b"int a;\n", "deep/x/y.h": b"int y;\n"},
        rules | {"place.h/in.h": b"int b;\n", "z.cc": b"int z;\n"},
        rules | {"place.h": b"int c;\n", "z.cc": b"int zz;\n"},
    ]
    assert not (folder / "deep").exists()


def test_links_and_paths_that_leave_the_folder_are_not_followed() -> None:
    assert compiled_change("120000", "1" * 40, "a.h") == [TreeChange("a.h", "")]
    assert compiled_change("100644", "1" * 40, "../a.h") == []
    assert compiled_change("100644", "1" * 40, ".megacpp/a.h") == []
    assert compiled_change("100755", "1" * 40, "a.h") == [TreeChange("a.h", "1" * 40)]


def test_a_name_is_mentioned_by_the_files_that_have_it_now() -> None:
    mentions = TreeIdentifiers()
    mentions.put("a.cc", b"int one() { return two(); }\n")
    mentions.put("b.cc", b"// two\n")
    assert mentions.of("two") == {"a.cc", "b.cc"}
    mentions.put("a.cc", b"int one();\n")
    mentions.put("b.cc", b"")
    assert (mentions.of("two"), mentions.of("one"), mentions.of("operator+")) == (set(), {"a.cc"}, set())
