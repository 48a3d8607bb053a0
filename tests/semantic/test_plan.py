from __future__ import annotations

import json
from pathlib import Path

from megacpp_assets.semantic.plan import STUB_FOLDER, Standards, plan_units
from tests.semantic.parsing_trees import write_tree


def test_without_a_database_every_file_gets_inferred_folders_and_its_languages_standard(tmp_path: Path) -> None:
    files = write_tree(tmp_path, {"include/a.h": "", "src/a.cpp": "#include <a.h>\n", "src/b.c": "", "readme.md": ""})
    units = plan_units(tmp_path, files, Standards(c="gnu17", cpp="c++20"))
    assert [(unit.path, unit.mode, unit.header) for unit in units] == [
        ("include/a.h", "inferred", True),
        ("src/a.cpp", "inferred", False),
        ("src/b.c", "inferred", False),
    ]
    assert units[1].arguments == ("-x", "c++", "-std=c++20", "-Iinclude")
    assert units[2].arguments == ("-x", "c", "-std=gnu17", "-Iinclude")


def test_a_file_in_no_target_borrows_the_commonest_arguments_of_its_neighbours(tmp_path: Path) -> None:
    names = ("lib/a.cpp", "lib/b.cpp", "lib/c.cpp", "lib/new.cpp", "lib/new.h", "tool/t.cpp", "other/o.c")
    flags = {"lib/a.cpp": "-DLIB", "lib/b.cpp": "-DLIB", "lib/c.cpp": "-DODD", "tool/t.cpp": "-DTOOL"}
    entries = [
        {"directory": ".", "file": name, "arguments": ["cc", flag, "-std=c++20"]} for name, flag in flags.items()
    ]
    files = write_tree(tmp_path, {**dict.fromkeys(names, ""), "compile_commands.json": json.dumps(entries)})
    units = {unit.path: unit for unit in plan_units(tmp_path, files, Standards())}
    assert units["lib/c.cpp"].mode == "database"
    assert units["lib/c.cpp"].arguments == ("-x", "c++", "-std=c++20", "-DODD")
    for path in ("lib/new.cpp", "lib/new.h"):
        assert units[path].mode == "nearest"
        assert units[path].arguments == ("-x", "c++", "-std=c++20", "-DLIB")
    assert units["other/o.c"].arguments == ("-x", "c", "-std=gnu11", "-DLIB")


def test_stubs_are_written_only_where_the_tree_has_nothing_of_that_name(tmp_path: Path) -> None:
    sources = {"a.cpp": '#include "config.h"\n', "config.h.in": "#cmakedefine A\n"}
    files = write_tree(tmp_path / "plain", sources)
    (unit,) = plan_units(tmp_path / "plain", files, Standards())
    assert unit.arguments[-1] == f"-I{STUB_FOLDER}"
    assert (tmp_path / "plain" / STUB_FOLDER / "config.h").read_text() == "/* #undef A */\n"
    files = write_tree(tmp_path / "taken", {**sources, ".megacpp": "a file of the repository"})
    (unit,) = plan_units(tmp_path / "taken", files, Standards())
    assert unit.arguments[-1] == "-std=c++17"
