"""Paths that no history shows."""

from __future__ import annotations

import pytest

from megacpp_assets.commits.rules import GENERATED_PATH, VENDORED_PATH, rule_of_path


@pytest.mark.parametrize("path", ["test/catch.hpp", "tests/catch_amalgamated.cpp", "test/doctest.h", "a/b.pb.h"])
def test_a_library_in_one_file_is_left_out_like_other_generated_files(path: str) -> None:
    assert rule_of_path(path, ()) == GENERATED_PATH


@pytest.mark.parametrize("path", ["include/catch_test_macros.hpp", "src/my_doctest.hpp", "catch.hpp.in/a.cpp"])
def test_a_name_that_only_resembles_one_stays(path: str) -> None:
    assert rule_of_path(path, ()) == ""


@pytest.mark.parametrize("path", ["test/gtest/gtest/gtest.h", "lib/tests/googletest/src/a.cc", "vendor/a.c"])
def test_a_copy_of_a_test_library_is_left_out_like_other_vendored_files(path: str) -> None:
    assert rule_of_path(path, ()) == VENDORED_PATH


@pytest.mark.parametrize("path", ["googletest/include/gtest/gtest.h", "googletest/test/gtest_main_unittest.cc"])
def test_the_library_itself_stays(path: str) -> None:
    assert rule_of_path(path, ()) == ""
