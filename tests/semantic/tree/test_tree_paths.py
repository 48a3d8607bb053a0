from __future__ import annotations

import os
from pathlib import Path

import pytest

from megacpp_assets.semantic.tree.tree_paths import TreePaths


@pytest.fixture
def paths(tmp_path: Path) -> TreePaths:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tmp_path / "tree-sibling").mkdir()
    (tree / "src" / "a.h").write_text("")
    (tree / "out").symlink_to(tmp_path / "tree-sibling")
    (tree / "link.h").symlink_to("/etc/hostname")
    return TreePaths(os.path.realpath(tree), "/orig")


@pytest.mark.parametrize(
    ("path", "base", "expected"),
    [
        ("src", "", "src"), (".", "", "."), ("", "", None), ("..", "", None), ("..", "src", "."),
        ("../..", "src", None),
        ("/orig/src", "", "src"), ("/orig", "", "."), ("/original/src", "", None), ("/etc", "", None),
        ("out", "", None),
        ("out/..", "", "."), ("src/../../tree/src", "", None), ("missing", "", None), ("sr\0c", "", None),
    ],
)  # fmt: skip
def test_only_folders_of_the_tree_are_found(paths: TreePaths, path: str, base: str, expected: str | None) -> None:
    assert paths.folder(path, base) == expected


def test_folders_of_the_compilers_headers_are_found_under_their_real_path(tmp_path: Path, paths: TreePaths) -> None:
    headers = tmp_path / "headers"
    (headers / "xml" / "deep").mkdir(parents=True)
    (headers / "xml" / "a.h").write_text("")
    (headers / "same").symlink_to("xml")
    (headers / "away").symlink_to("/etc")
    (tmp_path / "headers-of-others").mkdir()
    (tmp_path / "way").symlink_to(headers)
    known = TreePaths(paths.tree, paths.source_root, (os.path.realpath(headers),))
    root = os.path.realpath(headers)
    for path in ("xml", "same", "same/../xml/"):
        assert known.folder(f"{root}/{path}") == f"{root}/xml"
    assert known.folder(f"{root}/xml/deep", "src") == f"{root}/xml/deep"
    assert known.folder(root) == known.folder(f"{root}/away/..") == root
    below = (
        "/away",
        "/../tree-sibling",
        "-of-others",
        "/xml/a.h",
        "/none",
        "/xml\0",
        "/xml" + "/." * 200,
    )
    refused = (*(root + path for path in below), "/etc", "xml", "../headers/xml", f"{tmp_path}/way/xml")
    assert [path for path in refused if known.folder(path) is not None] == []
    assert known.file(f"{root}/xml/a.h") is None and known.inside(f"{root}/xml") is None
    assert paths.folder(f"{root}/xml") is None


def test_a_link_out_of_the_tree_is_no_file_of_it(paths: TreePaths) -> None:
    assert paths.file("src/a.h") == "src/a.h"
    assert paths.file("link.h") is None
    assert paths.folder("src/a.h") is None
