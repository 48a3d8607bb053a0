"""Copies of other projects are context and not roots; of an amalgamation and its parts the parts are the roots."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.roots.vendored import vendored_files
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.sources import assembled, index

PROJECTS = SemanticRecipe().vendored
CHECK = "inline bool check_value(int value) { return value > 1000; }\n"
USER = '#include "../test/gtest-1.11.0/check.h"\nint own_value(int value) { return check_value(value) ? value : 0; }\n'


def test_known_names_versions_and_other_licences_tell_copies() -> None:
    paths = [
        "src/node.cpp",
        "src/more.cpp",
        "src/parse.cpp",
        "src/print.cpp",
        "src/emit.cpp",
        "test/gtest-1.11.0/src/gtest.cc",
        "test/doctest.h",
        "deps/lua/lua.c",
        "3rd-party/json/json.hpp",
        "util/lua-5.1/lua.c",
        "util/xz/check.c",
        "src/gtester.cc",
    ]
    assert vendored_files(paths, PROJECTS, "yaml-cpp", ["util/xz", "src"]) == {
        "test/gtest-1.11.0/src/gtest.cc": "test/gtest-1.11.0",
        "test/doctest.h": "test/doctest.h",
        "deps/lua/lua.c": "deps",
        "3rd-party/json/json.hpp": "3rd-party",
        "util/lua-5.1/lua.c": "util/lua-5.1",
        "util/xz/check.c": "util/xz",
    }


def test_a_folder_named_as_its_repository_is_no_copy_and_an_empty_list_finds_none() -> None:
    paths = ["googletest/src/gtest.cc", "googlemock/src/gmock.cc", "third_party/x.cc"]
    assert vendored_files(paths, PROJECTS, "googletest") == {"third_party/x.cc": "third_party"}
    assert vendored_files(paths, (), "fmt") == {}


def test_a_copied_definition_is_context_and_is_recorded(tmp_path: Path) -> None:
    path = "test/gtest-1.11.0/check.h"
    repository, store = index(tmp_path, {path: CHECK, "src/own.cc": USER})
    recipe = SemanticRecipe(parsed_documents=0)
    made = list(documents(repository, store, recipe, 4096, only_context={path: "vendored as test/gtest-1.11.0"}))
    (document,) = (entry for entry in made if isinstance(entry, Document))
    assert document.root.name == "own_value" and "check_value(int value)" in document.text
    assert [entry.reason for entry in made if isinstance(entry, Skipped)] == ["vendored as test/gtest-1.11.0"]


def test_of_an_amalgamation_and_its_parts_the_parts_are_the_roots(tmp_path: Path) -> None:
    parts = {f"src/part{n}.h": f"inline int part{n}(int v) {{ return v * {n} + 1000; }}\n" for n in range(3)}
    sources = {"all_in_one.h": "".join(parts.values()), **parts}
    made = assembled(tmp_path, sources)
    paths = {part.filepath for entry in made if isinstance(entry, Document) for part in entry.constituents}
    assert paths == set(parts)
    assert {entry.path for entry in made if isinstance(entry, Skipped)} == {"all_in_one.h"}


def test_of_generated_twins_the_first_by_path_is_the_root(tmp_path: Path) -> None:
    text = "".join(f"inline int twin{n}(int v) {{ return v * {n} + 1000; }}\n" for n in range(3))
    made = assembled(tmp_path, {"a.h": text, "b.h": text})
    assert {entry.path for entry in made if isinstance(entry, Skipped)} == {"b.h"}
