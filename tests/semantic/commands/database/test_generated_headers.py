"""Headers that a tree's cmake writes: the parser sees them, and what else a tree writes there does no harm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.semantic.commands.database.configure import BUILD, configure, headers_in
from megacpp_assets.semantic.stage import run
from tests.semantic.commands.database.caged import GOOD, QUICK, caged, tree_of
from tests.semantic.hostile_repository import spec_of

GENERATING = GOOD.replace("add_library", "configure_file(lib/config.h.in lib/config.h)\nadd_library", 1).replace(
    "include)", "include ${CMAKE_BINARY_DIR})"
)


@caged
def test_headers_that_cmake_writes_come_with_the_database(tmp_path: Path) -> None:
    tree = tree_of(tmp_path / "tree", GENERATING)
    (tree / "lib").mkdir()
    (tree / "lib" / "config.h.in").write_text("#define LIB_PARTS @CMAKE_CXX_STANDARD_DEFAULT@\n#cmakedefine NO\n")
    found = configure(tree)
    assert found.reason == "" and set(found.headers) == {"lib/config.h"}
    assert found.headers["lib/config.h"].startswith(b"#define LIB_PARTS 1")
    assert f"-I{BUILD}".encode() in found.database


@caged
def test_the_parser_sees_the_headers_that_cmake_writes(tmp_path: Path) -> None:
    source = (
        '#include "lib/config.h"\nint LIB_NAME(int value) { return value; }\nint twice() { return made(made(1)); }\n'
    )
    files = {
        "src/good.cc": source,
        "test/good_test.cc": "int test;\n",
        "include/good.h": "int good;\n",
        "lib/config.h.in": "#define LIB_NAME @GOOD_NAME@\n",
        "CMakeLists.txt": "set(GOOD_NAME made)\n" + GENERATING,
    }
    spec = spec_of(tmp_path, "written", {path: text.encode() for path, text in files.items()})
    stats = run(replace(spec, recipe=replace(spec.recipe, configure=True))).manifest.stats
    assert (stats["configure"], stats["units_errors"], stats["calls_resolved"]) == ("database", 0, 2)


@caged
def test_a_tree_may_not_write_more_headers_than_the_limits_allow(tmp_path: Path) -> None:
    body = 'foreach(number RANGE 10 20)\nfile(WRITE ${CMAKE_BINARY_DIR}/${number}.h "int number;\\n")\nendforeach()\n'
    tree = tree_of(tmp_path / "tree", GOOD + body)
    assert len(configure(tree).headers) == 11
    assert set(configure(tree, replace(QUICK, headers=2)).headers) == {"10.h", "11.h"}
    assert set(configure(tree, replace(QUICK, header_bytes=40)).headers) == {"10.h", "11.h", "12.h"}


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        (b"3\na.h\nint", ["a.h"]),
        (b"3\na.h\nint3\nb/c.h\nint", ["a.h", "b/c.h"]),
        (b"3\n../a.h\nint3\n/b.h\nint3\n.megacpp/c.h\nint", []),
        (b"4\na.h\nint", []),
        (b"-1\na.h\nint", []),
        (b"9999999999\na.h\nint", []),
        (b"3\n" + 300 * b"a" + b".h\nint3\nb.h\nint", ["b.h"]),
        (b"\xff\xfe", []),
        (b"", []),
    ],
)
def test_what_a_tree_writes_in_the_place_of_headers_is_read_with_care(data: bytes, paths: list[str]) -> None:
    assert list(dict(headers_in(data))) == paths
