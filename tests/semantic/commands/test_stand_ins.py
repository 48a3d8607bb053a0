"""What a tree includes of another repository is found in that one's headers, where a recipe says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.parsing.parse import parse_tree
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.headers import STAND_INS, Library, export_headers
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, listing, toolchain, write_tree

TESTING = {
    "testing/include/check/check.h": '#pragma once\n#include "check/detail/text.h"\nbool check(const Text& text);\n',
    "testing/include/check/detail/text.h": "#pragma once\n#include <cstddef>\nstruct Text { const char* data; };\n",
    "testing/include/check/unused.h": "#error never read\n",
    "testing/include/string.h": "#error it is the system's\n",
    "testing/src/check.cc": '#include "check/check.h"\nbool check(const Text&) { return true; }\n',
}
SOURCES = {
    "own/pair.h": "#pragma once\nstruct Pair { int left; };\n",
    "test/pair_test.cc": """\
#include <string.h>
#include "check/check.h"
#include "own/pair.h"
bool ok() { return check(Text{"a"}); }
""",
}


class _Blobs:
    """Blobs by their texts' paths, as `BlobReader` gives them."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def read(self, blob: str) -> bytes:
        return self._files[blob].encode()


def _library(name: str, files: Mapping[str, str]) -> Library:
    listed = [replace(file, blob=file.path) for file in listing(files)]
    return Library(name, listed, _Blobs(files))  # type: ignore[arg-type]


def _parsed(
    tree: Path, sources: Mapping[str, str], *libraries: Library
) -> tuple[list[str], list[SourceFile], dict[str, ParsedFile]]:
    files = write_tree(tree, sources)
    written = export_headers(tree, [text.encode() for text in sources.values()], sources, libraries)
    found = parse_tree(tree, files, toolchain(), InProcess(), options=IN_PROCESS, stand_ins=written)
    return written, files, {file.path: file for file in found}


def test_without_the_other_repository_its_names_are_unknown(tmp_path: Path) -> None:
    _, _, parsed = _parsed(tmp_path, SOURCES)
    assert parsed["test/pair_test.cc"].errors > 0


def test_its_headers_are_found_as_the_systems_and_are_no_files_of_the_tree(tmp_path: Path) -> None:
    written, files, parsed = _parsed(tmp_path, SOURCES, _library("testing", TESTING))
    assert written == [f"{STAND_INS}/testing/testing/include/check/{name}" for name in ("check.h", "detail/text.h")]
    assert [file.path for file in files] == sorted(parsed)
    test = parsed["test/pair_test.cc"]
    assert test.errors == 0 and test.cursors is not None
    assert "check" in {test.symbols.qualified_name[row] for row in test.cursors.uses.tolist() if row >= 0}


def test_a_tree_header_has_priority_over_a_stand_in(tmp_path: Path) -> None:
    library = _library("other", {"own/pair.h": "#error not this one\n", "check/check.h": "struct Text {};\n"})
    written, _, parsed = _parsed(tmp_path, {**SOURCES, "a.cc": '#include "own/pair.h"\nPair pair;\n'}, library)
    assert written == [f"{STAND_INS}/other/check/check.h"]
    assert parsed["a.cc"].errors == 0


def test_headers_of_two_repositories_include_each_other(tmp_path: Path) -> None:
    first = _library("first", {"include/a/a.h": "#include <b/b.h>\nusing A = B;\n"})
    second = _library("second", {"lib/b/b.h": "struct B { int value; };\n"})
    _, _, parsed = _parsed(tmp_path, {"x.cc": "#include <a/a.h>\nA a;\n"}, first, second)
    assert parsed["x.cc"].errors == 0


@pytest.mark.parametrize("path", ["../up.h", ".megacpp/up.h", "/up.h"])
def test_a_header_whose_path_could_leave_its_folder_is_not_written(path: str, tmp_path: Path) -> None:
    written, _, _ = _parsed(tmp_path / "tree", {"a.cc": "#include <up.h>\n"}, _library("odd", {path: "int up;\n"}))
    assert written == [] and not (tmp_path / "up.h").exists()
