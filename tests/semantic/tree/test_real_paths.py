from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.tree.real_paths import RealPaths

_NAMES = st.sampled_from(["a", "b", "c", "..", ".", ""])
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_TARGETS = _PATHS | st.sampled_from(["/", "/etc", "/etc/hostname", "../tree", "../beside", "none"])


def test_a_link_that_leaves_the_root_is_outside_and_one_that_stays_is_inside(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "own").mkdir(parents=True)
    (tree / "own/file").touch()
    (tmp_path / "treetop").touch()
    for name, target in {"stays": "own", "leaves": "..", "file": "own/file", "top": "../treetop"}.items():
        (tree / name).symlink_to(target)
    paths = RealPaths(str(tree))
    asked = ("own/file", "file", "stays/file", "none", "leaves/treetop", "leaves/tree/own", "top", "..", "own/../..")
    assert [path for path in asked if not paths.inside(path)] == ["leaves/treetop", "top", "..", "own/../.."]
    assert paths.inside(f"{tree}/stays/file") and not paths.inside("/etc/passwd")


@given(st.dictionaries(st.tuples(_NAMES, _NAMES), _TARGETS | st.none(), max_size=6), st.lists(_PATHS, max_size=6))
def test_any_path_is_where_the_system_says(made: dict[tuple[str, str], str | None], asked: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        tree.mkdir()
        for (above, name), target in made.items():
            path = tree / above / name
            if os.path.lexists(path) or not path.parent.is_dir() or not path.resolve().is_relative_to(tree.resolve()):
                continue
            if target is None:
                path.mkdir()
            elif target:
                path.symlink_to(target)
        paths = RealPaths(str(tree))
        for name in (*asked, *(f"{tree}/{name}" for name in asked), *(f"/{name}" for name in asked)):
            assert paths.of(name) == os.path.realpath(os.path.join(tree, name))
