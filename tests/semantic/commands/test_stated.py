"""A tree's own build files say which C++ it is written in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.commands.plan import Standards
from megacpp_assets.semantic.commands.stated import stated_standard
from tests.semantic.parsing_trees import parse_in_process, planned, write_tree


@pytest.mark.parametrize(
    ("path", "text", "standard"),
    [
        ("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 20)\n", "c++20"),
        ("CMakeLists.txt", 'set(CMAKE_CXX_STANDARD "23" CACHE STRING "")\n', "c++23"),
        ("CMakeLists.txt", "target_compile_features(lib PUBLIC cxx_std_20)\n", "c++20"),
        ("CMakeLists.txt", "set_target_properties(lib PROPERTIES CXX_STANDARD 20)\n", "c++20"),
        ("cmake/flags.cmake", "add_compile_options(-std=gnu++2a)\n", "c++20"),
        ("Makefile", "CXXFLAGS += -std=c++23\n", "c++23"),
        ("meson.build", "project('p', 'cpp', default_options : ['cpp_std=c++20'])\n", "c++20"),
        ("BUILD.bazel", 'cc_library(name = "a", copts = ["-std=c++20"])\n', "c++20"),
        (".bazelrc", "build --cxxopt=-std=c++20\n", "c++20"),
        ("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 11)\n", ""),
        ("CMakeLists.txt", "# set(CMAKE_CXX_STANDARD 20)\n", ""),
        ("CMakeLists.txt", "check_cxx_compiler_flag(-std=c++20 HAS_20)\n", ""),
        ("CMakeLists.txt", "if (CMAKE_CXX_STANDARD GREATER 20)\n", ""),
        ("CMakeLists.txt", "set(CMAKE_CXX_STANDARD ${STANDARD})\n", ""),
        ("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 99)\n", ""),
    ],
)
def test_a_standard_is_read_where_it_is_stated(path: str, text: str, standard: str) -> None:
    assert stated_standard({path: text.encode()}) == standard


def test_a_standard_of_all_targets_and_of_the_top_folder_has_priority() -> None:
    top = b"set(CMAKE_CXX_STANDARD 20)\ntarget_compile_features(a PUBLIC cxx_std_23)\n"
    assert stated_standard({"CMakeLists.txt": top, "test/CMakeLists.txt": b"set(CMAKE_CXX_STANDARD 26)"}) == "c++20"
    assert stated_standard({"CMakeLists.txt": b"project(a)", "lib/CMakeLists.txt": top}) == "c++20"


def test_most_targets_decide_and_of_equal_ones_the_higher() -> None:
    module = b"target_compile_features(m PUBLIC cxx_std_20)\n"
    library = b"target_compile_features(a PUBLIC cxx_std_11)\n"
    assert stated_standard({"CMakeLists.txt": module + 2 * library}) == ""
    assert stated_standard({"CMakeLists.txt": module + library}) == "c++20"


def test_a_file_is_parsed_as_the_tree_says(tmp_path: Path) -> None:
    source = "template <class T> concept Any = true;\nint f(Any auto v) { return 1; }\n"
    rules = {"CMakeLists.txt": "set(CMAKE_CXX_STANDARD 20)\n"}
    files = write_tree(tmp_path / "new", {"a.cc": source, **rules})
    (unit,) = planned(tmp_path / "new", files, Standards())
    assert "-std=c++20" in unit.arguments
    assert parse_in_process(tmp_path / "old", {"a.cc": source})["a.cc"].errors > 0
    assert parse_in_process(tmp_path / "again", {"a.cc": source, **rules})["a.cc"].errors == 0


@given(st.dictionaries(st.sampled_from(["CMakeLists.txt", "a/Makefile", "b/c/BUILD"]), st.binary(max_size=60)))
def test_any_text_gives_a_known_standard_or_none(builds: dict[str, bytes]) -> None:
    assert stated_standard(builds) in {"", "c++20", "c++23", "c++26"}
