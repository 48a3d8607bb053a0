from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.commands.arguments import allowed, for_language, language_of
from megacpp_assets.semantic.tree.tree_paths import TreePaths
from tests.semantic.hostile_arguments import HOSTILE, escapes, hostile_tree


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> TreePaths:
    return hostile_tree(tmp_path_factory.mktemp("arguments"))


@pytest.mark.parametrize("arguments", HOSTILE, ids=lambda arguments: " ".join(arguments)[:40].encode().hex())
def test_a_hostile_argument_does_not_pass(arguments: list[str], paths: TreePaths) -> None:
    kept = allowed(arguments, paths, "")
    assert not escapes(kept, paths.tree)
    assert not any("evil" in argument or "passwd" in argument or "etc" in argument for argument in kept)


def test_ordinary_arguments_pass_in_one_piece_each(paths: TreePaths) -> None:
    given_arguments = (
        "-DA -D B=2 -UNDEBUG -Iinclude -I include/deep -isystem include -iquote . -include config.h -std=gnu++20 "
        "-m32 -fno-exceptions -fno-rtti -x c++ -O2 -g -Wall -c -o out.o -I=odd"
    ).split()
    assert allowed(given_arguments, paths, "") == (
        "-DA", "-DB=2", "-UNDEBUG", "-Iinclude", "-Iinclude/deep", "-isysteminclude", "-iquote.", "-include",
        "config.h",
        "-std=gnu++20", "-m32", "-fno-exceptions", "-fno-rtti", "-xc++", "-I./=odd",
    )  # fmt: skip


def test_relative_paths_refer_to_the_folder_of_the_entry(paths: TreePaths) -> None:
    assert allowed(["-I..", "-I.", "-I../.."], paths, "include") == ("-I.", "-Iinclude")


def test_absolute_paths_of_the_tree_become_relative(paths: TreePaths) -> None:
    foreign = TreePaths(paths.tree, "/home/somebody/project")
    arguments = [f"-I{paths.tree}/include", "-I/home/somebody/project/include/deep", "-I/home/somebody/projects"]
    assert allowed(arguments, foreign, "") == ("-Iinclude", "-Iinclude/deep")


def test_the_language_of_the_command_line_wins_and_only_a_fitting_standard_stays() -> None:
    assert language_of(("-xc", "-DA", "-xc++-header")) == "c++"
    assert language_of(("-DA",)) is None
    assert for_language(("-std=c++20", "-xc++", "-DA"), "c", "gnu11") == ("-x", "c", "-std=gnu11", "-DA")
    assert for_language(("-fgnu89-inline", "-DA"), "c++", "c++17") == ("-x", "c++", "-std=c++17", "-DA")
    assert for_language(("-std=c++20", "-std=gnu17"), "c++", "c++17") == ("-x", "c++", "-std=c++20")


def test_an_endless_list_is_cut(paths: TreePaths, tmp_path: Path) -> None:
    assert len(allowed([f"-DX{index}" for index in range(30_000)], paths, "")) == 20_000
