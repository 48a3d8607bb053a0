"""What a document lacks: names that the parser does not find in it, with the headers of chosen folders."""

from __future__ import annotations

from pathlib import Path

import alone
import pytest
from _libclang import load_library

from megacpp_assets.semantic.commands.toolchain import Toolchain, find_toolchain
from megacpp_assets.semantic.documents.measures.drawn import Drawn


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    found = find_toolchain()
    load_library(found)
    return found


def test_headers_below_a_folder_that_is_named_are_found(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "check.h").write_text("#pragma once\nbool check(bool holds);\n")
    document = Drawn("#include <check.h>\nbool f() { return check(true); }\n")
    assert alone.lacks(document, alone.arguments_of(toolchain, ())) == ["check"]
    assert alone.lacks(document, alone.arguments_of(toolchain, [str(tmp_path)])) == []


def test_headers_of_a_dependency_are_known_by_the_folder_that_they_lie_below() -> None:
    assert alone.is_below("test/gtest/gtest.h", ["test/gtest/"])
    assert not alone.is_below("test/gtest-extra.h", ["test/gtest"])
