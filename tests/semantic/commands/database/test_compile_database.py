from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.commands.database import response_files
from megacpp_assets.semantic.commands.database.compile_database import find_database, read_database
from megacpp_assets.semantic.commands.database.windows import windows_words
from megacpp_assets.semantic.tree.build_files import DATABASE


def database(tree: Path, entries: Any, path: str = DATABASE) -> None:
    target = tree / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(entries if isinstance(entries, str) else json.dumps(entries))


def entry(file: str, *arguments: str, directory: str = "/orig") -> dict[str, Any]:
    return {"directory": directory, "file": file, "arguments": ["c++", *arguments]}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path in ("src/a.cpp", "src/b.cpp", "include/a.h"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    return tmp_path


def test_entries_of_another_machine_are_mapped_to_the_tree(tree: Path) -> None:
    database(tree, [entry("/orig/src/a.cpp", "-I/orig/include"), entry("src/b.cpp", "-Iinclude", "-DB")])
    assert read_database(tree, DATABASE).entries == {"src/a.cpp": ("-Iinclude",), "src/b.cpp": ("-Iinclude", "-DB")}


def test_a_command_is_split_as_a_shell_would_and_nothing_runs(tree: Path) -> None:
    command = "c++ '-DA=\"x y\"' -DB=$(touch evil) -Iinclude -c src/a.cpp"
    database(tree, [{"directory": ".", "file": "src/a.cpp", "command": command}])
    assert read_database(tree, DATABASE).entries == {"src/a.cpp": ('-DA="x y"', "-DB=$(touch", "-Iinclude")}
    assert not list(tree.rglob("evil"))


def test_a_command_of_four_megabytes_is_read_and_its_endless_word_left_out(tree: Path) -> None:
    command = f"c++ -DA -DB={'x' * 4_000_000} -DC -c src/a.cpp"
    database(tree, [{"directory": ".", "file": "src/a.cpp", "command": command}])
    assert read_database(tree, DATABASE).entries == {"src/a.cpp": ("-DA", "-DC")}


def test_arguments_are_preferred_to_a_command_and_the_first_entry_counts(tree: Path) -> None:
    first = {**entry("src/a.cpp", "-DFIRST", directory="."), "command": "c++ -DCOMMAND"}
    database(tree, [first, entry("src/a.cpp", "-DSECOND", directory=".")])
    assert read_database(tree, DATABASE).entries == {"src/a.cpp": ("-DFIRST",)}


def test_folders_of_the_compilers_headers_stay_and_no_other_of_the_host(tree: Path) -> None:
    given = entry(
        "/orig/src/a.cpp", "-isystem", "/usr/include/linux", "-I/usr/include/asm-generic", "-I/usr/lib", "-I/etc"
    )
    database(tree, [given])
    expected = ("-isystem/usr/include/linux", "-I/usr/include/asm-generic")
    assert read_database(tree, DATABASE, ("/usr/include",)).entries == {"src/a.cpp": expected}
    assert read_database(tree, DATABASE).entries == {"src/a.cpp": ()}


def test_paths_of_a_build_folder_refer_to_it(tree: Path) -> None:
    database(tree, [entry("../src/a.cpp", "-I../include", directory="/orig/build")], f"build/{DATABASE}")
    assert read_database(tree, f"build/{DATABASE}").entries == {"src/a.cpp": ("-Iinclude",)}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 100_000, "null", '{"a": 1}', "[1, null, []]", '[{"file": 3, "directory": "."}]', "\xff" * 4,
     '[{"file": "src/a.cpp", "directory": ".", "arguments": "-I."}]', '[{"file": "src/a.cpp", "directory": "."}]',
     '[{"file": "src/a.cpp", "directory": ".", "arguments": [1]}]',
     '[{"file": "src/a.cpp", "directory": ".", "command": "c++ \'"}]',
     '[{"file": "/etc/passwd", "directory": "/", "arguments": []}]',
     '[{"file": "../../x", "directory": "..", "arguments": ["@/etc/passwd"]}]'],
)  # fmt: skip
def test_a_malformed_database_gives_no_entries(tree: Path, text: str) -> None:
    database(tree, text)
    assert read_database(tree, DATABASE).entries == {}


def test_the_search_prefers_the_root_then_the_fullest_build_folder_then_a_walk(tree: Path) -> None:
    assert find_database(tree) is None
    database(tree, [entry("src/a.cpp")], f"x/y/{DATABASE}")
    assert find_database(tree) == f"x/y/{DATABASE}"
    database(tree, [entry("src/a.cpp")], f"build/{DATABASE}")
    database(tree, [entry("src/a.cpp"), entry("src/b.cpp")], f"out/build/{DATABASE}")
    assert find_database(tree) == f"out/build/{DATABASE}"
    database(tree, [])
    assert find_database(tree) == DATABASE
    assert find_database(tree, f"build/{DATABASE}") == f"build/{DATABASE}"


def test_a_database_that_is_a_link_is_not_read(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "db.json"
    outside.write_text("[]")
    (tree / DATABASE).symlink_to(outside)
    assert find_database(tree) is None


def test_a_response_file_of_the_tree_is_expanded(tree: Path) -> None:
    (tree / "build").mkdir()
    (tree / "build/flags.rsp").write_text('-I../include "-DA=x y" @more.rsp')
    (tree / "build/more.rsp").write_text("-DB @flags.rsp")
    database(tree, [{"directory": "build", "file": "../src/a.cpp", "command": "c++ @flags.rsp -c ../src/a.cpp"}])
    read = read_database(tree, DATABASE)
    assert read.entries == {"src/a.cpp": ("-Iinclude", "-DA=x y", "-DB")}
    assert read.warned == {"src/a.cpp"}, "flags.rsp in itself is left out"


@pytest.mark.parametrize("name", ["gone.rsp", "/etc/hostname", "../../up.rsp", "large.rsp"])
def test_a_response_file_that_cannot_be_read_is_a_warning_on_the_file(tree: Path, name: str) -> None:
    (tree / "large.rsp").write_bytes(b" " * (response_files.MAX_BYTES + 1))
    database(tree, [entry("src/a.cpp", f"@{name}", "-DA", directory="."), entry("src/b.cpp", directory=".")])
    assert read_database(tree, DATABASE) == ({"src/a.cpp": ("-DA",), "src/b.cpp": ()}, "", {"src/a.cpp"})


CL = r'"C:\VS 2022\bin\cl.exe" /nologo /I..\include /DX=1 /D Y /std:c++20 /EHsc /TP /Foobj\ /c ..\src\a.cpp /link /DZ'


@pytest.mark.parametrize("as_words", [False, True])
def test_a_command_of_cl_is_translated(tree: Path, as_words: bool) -> None:
    given = {"arguments": windows_words(CL, 100)} if as_words else {"command": CL}
    database(tree, [{"directory": "C:\\p\\out", "file": "..\\src\\a.cpp", **given}])
    expected = ("-Iinclude", "-DX=1", "-DY", "-std=c++20", "-fexceptions", "-xc++")
    assert read_database(tree, DATABASE).entries == {"src/a.cpp": expected}


def test_gnu_options_of_windows_have_their_paths_mapped_to_the_tree(tree: Path) -> None:
    command = r"C:\mingw\bin\g++.exe -IC:\p\include -include C:\p\include\a.h -DPATH=C:\x -c C:\p\src\a.cpp"
    database(tree, [{"directory": "C:/p/build", "file": r"C:\p\src\a.cpp", "command": command}])
    expected = ("-Iinclude", "-include", "include/a.h", r"-DPATH=C:\x")
    assert read_database(tree, DATABASE).entries == {"src/a.cpp": expected}


def test_a_relative_directory_may_be_meant_from_the_top_of_the_tree(tree: Path) -> None:
    database(tree, [entry("../src/a.cpp", "-I../include", directory="out")], f"out/{DATABASE}")
    assert read_database(tree, f"out/{DATABASE}").entries == {"src/a.cpp": ("-Iinclude",)}


@given(st.lists(st.text(alphabet='ab \\"', max_size=8), max_size=4))
def test_words_of_windows_are_what_its_quoting_makes_of_them(words: list[str]) -> None:
    command = subprocess.list2cmdline([word or "a" for word in words])
    assert windows_words(command, 100) == [word or "a" for word in words]
