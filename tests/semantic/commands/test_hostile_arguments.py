"""Whatever argument list comes in, what goes out can only steer a parse inside the tree.

MEGACPP_FULL_TESTS=1 makes it 20,000 lists instead of 500.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megacpp_assets.semantic.commands.arguments import allowed
from megacpp_assets.semantic.commands.database.compile_database import read_database
from megacpp_assets.semantic.tree.build_files import DATABASE
from megacpp_assets.semantic.tree.tree_paths import TreePaths
from tests.semantic.hostile_arguments import HOSTILE, escapes, hostile_tree, options_of_libclang
from tests.semantic.parsing_trees import parse_in_process

FULL = os.environ.get("MEGACPP_FULL_TESTS") == "1"
LISTS = 20_000 if FULL else 500
VALUES = (
    "include", "config.h", "poisoned.h", "escape", "escape/passwd", "../x", "/etc", "/etc/passwd", ".", "..", "", "=",
    "=/etc", "@args.rsp", "@/etc/passwd", "evil.o", "/build/machine/project/include", "/build/machine/project/../x",
    "include/../../x", "include\0/etc", "X=1\n-o", "-load", "c++", "ir", "a" * 9000, "@odd", "=odd", "~", "$HOME",
    "`id`", "/proc/self/fd/3", "//etc", "\ud800", "\u202e", "-",
    "/usr/include", "/usr/include/linux", "/usr/include/../../etc", "/usr/include/../include", "/usr/includes",
)  # fmt: skip


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> TreePaths:
    return hostile_tree(tmp_path_factory.mktemp("hostile"))


def lists() -> st.SearchStrategy[list[str]]:
    """Lists of the compiler's own options and of attacks, joined with and parted from values of every kind."""
    option = st.one_of(
        st.sampled_from(options_of_libclang()), st.sampled_from([piece for attack in HOSTILE for piece in attack])
    )
    value = st.one_of(st.sampled_from(VALUES), st.text(st.characters(), max_size=12))
    joined = st.builds(
        lambda first, mark, second: first + mark + second, option, st.sampled_from(["", "=", ","]), value
    )
    return st.lists(
        st.one_of(option, value, joined, st.sampled_from(["-I", "-D", "-include", "-isystem"])), max_size=10
    )


def test_the_compilers_own_table_of_options_is_what_the_lists_are_made_of() -> None:
    options = set(options_of_libclang())
    assert len(options) > 2000
    assert {"-o", "-MF", "-fplugin=", "-ivfsoverlay", "-include-pch"} <= options


@settings(max_examples=LISTS, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(lists())
def test_no_argument_list_escapes(paths: TreePaths, arguments: list[str]) -> None:
    for base in ("", "include"):
        kept = allowed(arguments, paths, base)
        assert escapes(kept, paths.tree) == ""
        assert allowed(kept, paths, "") == kept


def test_no_single_option_of_the_compiler_escapes_with_any_value(paths: TreePaths) -> None:
    for option in options_of_libclang():
        for arguments in ([option], [option, "/etc/passwd"], [f"{option}/etc/passwd"], [f"{option}=evil.o"]):
            kept = allowed(arguments, paths, "")
            assert escapes(kept, paths.tree) == "", arguments
            assert not any(word in argument for argument in kept for word in ("passwd", "evil") if argument[1] != "D")


@pytest.mark.parametrize(
    "arguments",
    [["-fms-extensions"], ["-fasm-blocks"], ["-include", "poisoned.h"], ["-I/etc"], ["-include", "escape/passwd"],
     ["-Iescape"], ["-o", "x"], ["-fplugin=x.so"], ["@x"], ["-I@odd"], ["-DA\nB"], ["-mllvm"], ["-include"]],
)  # fmt: skip
def test_the_test_detects_each_kind_of_escape(paths: TreePaths, arguments: Sequence[str]) -> None:
    assert escapes(arguments, paths.tree)


def test_the_compiler_writes_nothing_under_every_hostile_list_at_once(tmp_path: Path) -> None:
    """Each attack beside each other one in one entry, as the compiler would be run, in a folder of its own."""
    tree = tmp_path / "tree"
    names = [f"f{index}.cc" for index in range(0, len(options_of_libclang()), 100 if FULL else 500)]
    entries = [
        {"directory": str(tree), "file": name, "arguments": ["c++", *_slice(index), "/etc/passwd", "evil"]}
        for index, name in enumerate(names)
    ]
    files: dict[str, str | bytes] = {**dict.fromkeys(names, "int a;\n"), DATABASE: json.dumps(entries)}
    cwd = set(os.listdir())
    found = parse_in_process(tree, files)
    assert {(file.status, file.mode) for file in found.values()} == {("clean", "database")}
    assert {path.relative_to(tree).as_posix() for path in tree.rglob("*")} == set(files)
    assert set(os.listdir()) == cwd
    assert all(escapes(kept, os.path.realpath(tree)) == "" for kept in read_database(tree, DATABASE).entries.values())


def _slice(index: int) -> list[str]:
    options = options_of_libclang()
    return [piece for option in options[index * 100 : index * 100 + 100] for piece in (option, "evil")]
