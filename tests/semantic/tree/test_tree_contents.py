from __future__ import annotations

import time
from pathlib import Path

import pytest

from megacpp_assets.semantic.tree.tree_contents import TreeContents, header_state
from tests.semantic.parsing_trees import write_tree

TREE = {
    "src/a.cc": '#include "a.h"\n#include <lib/b.h>\n#include "../up.h"\nint a;\n',
    "src/a.h": "int a();\n",
    "include/lib/b.h": '#include "c.h"\n',
    "include/lib/c.h": "\n",
    "up.h": "\n",
    "other/d.h": "\n",
}
READ = ("src/a.cc", "src/a.h", "include/lib/b.h", "include/lib/c.h", "up.h")


def state(folder: Path, **changes: str | None) -> str:
    """State of the reader `src/a.cc` in TREE with `changes`, whose names have __ for / and _ for ."""
    places = {name.replace("__", "/").replace("_", "."): text for name, text in changes.items()}
    write_tree(folder, {path: text for path, text in (TREE | places).items() if text is not None})
    return TreeContents(folder).state(READ, ())


@pytest.mark.parametrize(
    "changes",
    [
        {"src__a_h": "int a(int);\n"},
        {"include__lib__c_h": "//\n"},
        {"up_h": None},
        {"src__lib__b_h": "// found first by the quoted form, or by -Isrc\n"},
        {"a_h": "\n"},
        {"deep__er__up_h": "\n"},
    ],
)
def test_a_change_of_what_was_read_or_could_now_be_found_changes_the_state(
    tmp_path: Path, changes: dict[str, str | None]
) -> None:
    assert state(tmp_path / "before") != state(tmp_path / "after", **changes)


@pytest.mark.parametrize(
    "changes", [{"other__d_h": "int d;\n"}, {"other__d_h": None}, {"lib__d_h": "\n"}, {"other__new_cc": "int n;\n"}]
)
def test_a_file_that_no_include_can_mean_changes_nothing(tmp_path: Path, changes: dict[str, str | None]) -> None:
    assert state(tmp_path / "before") == state(tmp_path / "after", **changes)


@pytest.mark.parametrize(
    "directive",
    [
        "#if __has_include(<new.h>)\n#endif\n",
        '%:include "sub/./new.h"\n',
        '/* " */ # include_next /**/ <x/../new.h> // "\n',
        '#inc\\\nlude "n\\\new.h"\n',
        '#define NAME "new.h"\n',
        "#include NAME\n",
        "\ufeff#include NAME\n",
        "#if __has_include(NAME)\n#endif\n",
        "#define HAS(x) __has_include(x)\n#if HAS(<new.h>)\n#endif\n",
        "/* */ # /**/ include /* */ PASTE(new,h)\n",
    ],
)
def test_every_way_to_ask_for_a_header_is_seen(tmp_path: Path, directive: str) -> None:
    trees = ({"a.cc": directive}, {"a.cc": directive, "some/sub/new.h": "\n"})
    states = []
    for number, tree in enumerate(trees):
        write_tree(tmp_path / str(number), tree)
        states.append(TreeContents(tmp_path / str(number)).state(["a.cc"], ()))
    assert states[0] != states[1]


def test_a_macro_that_only_passes_a_name_on_means_no_file(tmp_path: Path) -> None:
    tree = {"a.cc": "#  define HAS(x) (1 && __has_include( x ))\n#if HAS(<other.h>)\n#endif\n"}
    write_tree(tmp_path / "before", tree)
    write_tree(tmp_path / "after", tree | {"new.h": "\n"})
    assert len({TreeContents(tmp_path / name).state(["a.cc"], ()) for name in ("before", "after")}) == 1


def test_headers_of_the_compiler_count_by_what_they_ask_for(tmp_path: Path) -> None:
    write_tree(tmp_path / "usr", {"vector": "#if __has_include(<tbb/tbb.h>)\n#include <tbb/tbb.h>\n#endif\n"})
    outside = [str(tmp_path / "usr" / "vector")]
    states = []
    for name, extra in (("plain", {}), ("other", {"tbb/other.h": ""}), ("found", {"tbb/tbb.h": ""})):
        write_tree(tmp_path / name, {"a.cc": "#include <vector>\n", **extra})
        states.append(TreeContents(tmp_path / name).state(["a.cc"], outside))
    assert states[0] == states[1] != states[2]


def test_the_reach_of_a_file_is_what_its_includes_may_lead_to(tmp_path: Path) -> None:
    write_tree(tmp_path, TREE)
    contents = TreeContents(tmp_path)
    assert contents.reach({"src/a.cc"}) == set(READ)
    assert contents.reach({"other/d.h"}) == {"other/d.h"}
    assert contents.meant(b'#include "../../include/lib/b.h"') == {"include/lib/b.h"}


def test_a_text_made_to_stall_is_read_in_time_linear_in_its_length(tmp_path: Path) -> None:
    pieces = (
        "\n",
        " ",
        "#",
        '"',
        "<",
        "include ",
        "include/*",
        "/*",
        "/**/",
        "\\\n",
        "# \t",
        "%:",
        "__has_include(",
        "#define A(x)",
        "#define A(x) __has_include(",
    )
    write_tree(tmp_path, {f"{number}.h": piece * 200_000 for number, piece in enumerate(pieces)})
    contents = TreeContents(tmp_path)
    started = time.process_time()
    for number in range(len(pieces)):
        contents.digest(f"{number}.h")
    assert time.process_time() - started < 60


def test_installing_or_changing_a_header_of_the_machine_changes_its_state(tmp_path: Path) -> None:
    write_tree(tmp_path, {"usr/a.h": "1", "usr/sub/b.h": "2", "lib.so": ""})
    seen = [header_state([str(tmp_path / "usr")], str(tmp_path / "lib.so"))]
    for change in ({"usr/sub/b.h": "22"}, {"usr/sub/c.h": ""}, {"lib.so": "x"}):
        write_tree(tmp_path, change)
        seen.append(header_state([str(tmp_path / "usr"), str(tmp_path / "usr/sub")], str(tmp_path / "lib.so")))
    assert len(set(seen)) == 4
