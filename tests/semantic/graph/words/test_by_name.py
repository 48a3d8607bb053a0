"""Names in text that libclang does not visit or did not understand mean the chunks that fit them."""

from __future__ import annotations

from pathlib import Path

from tests.semantic.sources import Sources, index


def _named(tree: Path, sources: Sources) -> dict[str, list[str]]:
    """The names of chunks that name others by words alone, and the texts of those."""
    repository, _ = index(tree, sources)
    texts = [repository.files[node.file].source.text[node.char_start : node.char_end] for node in repository.nodes]
    return {
        repository.nodes[user].chunk.name: [texts[used] for used in found]
        for user, found in enumerate(repository.spelled)
        if len(found)
    }


def test_the_condition_in_noexcept_names_functions_and_no_members(tmp_path: Path) -> None:
    safe = "template <class T> constexpr bool is_safe() { return true; }"
    odd = "struct Odd { bool is_odd() const; };\nbool Odd::is_odd() const { return true; }\n"
    condition = "inner::is_safe<T>() && noexcept(t.is_odd())"
    text = f"{odd}namespace inner {{ {safe} }}\ntemplate <class T> void run(T t) noexcept({condition}) {{ t.go(); }}\n"
    assert _named(tmp_path, {"a.cc": text})["run"] == [safe]


def test_names_deep_inside_of_noexcept_are_found(tmp_path: Path) -> None:
    safe = "template <class T> struct is_safe { static const bool value = true; };"
    condition = "!is_safe<T>::value || noexcept(T::run(id(id(id(t)))))"
    text = (
        f"{safe}\ntemplate <class T> T id(T t);\ntemplate <class T> void run(T t) noexcept({condition}) {{ t.go(); }}\n"
    )
    assert safe in _named(tmp_path, {"a.cc": text})["run"]


def test_the_type_of_the_values_of_an_enumeration_is_named(tmp_path: Path) -> None:
    text = "typedef unsigned key;\nenum class entity : key { none };\nenum other { some };\n"
    assert _named(tmp_path, {"a.cc": text}) == {"entity": ["typedef unsigned key;"]}


def test_what_alignas_asks_of_a_class_is_named(tmp_path: Path) -> None:
    line = "constexpr unsigned LINE = 64;"
    text = f"{line}\nclass alignas(LINE) Counter {{ int count; }};\n"
    assert _named(tmp_path, {"a.cc": text}) == {"Counter": [line]}


def test_all_overloads_of_a_function_of_the_file_are_meant(tmp_path: Path) -> None:
    kinds = [f"int kind({given}) {{ return {number}; }}" for number, given in enumerate(("char", "long"))]
    text = "\n".join([*kinds, "template <class T> constexpr int kind_of = kind(T());\n"])
    assert _named(tmp_path, {"a.cc": text}) == {"kind_of": kinds}


def test_overloads_in_several_other_files_are_not_meant(tmp_path: Path) -> None:
    sources = {f"{name}.cc": f"int kind({name}) {{ return 1; }}\n" for name in ("char", "long")}
    sources["a.h"] = "template <class T> constexpr int kind_of = kind(T());\n"
    assert _named(tmp_path, sources) == {}


CHECKING: Sources = {
    "a.cc": "#define CHECK(c, label) ((c) ? 0 : label)\nint a(int v) { return CHECK(v, 1); }\n",
    "check.h": "#define CHECK(c) (c)\n",
    "user.cc": '#include "check.h"\ntemplate <class T> constexpr unsigned size = CHECK(sizeof(T));\n',
}


def test_a_macro_of_a_source_means_nothing_in_other_sources(tmp_path: Path) -> None:
    assert _named(tmp_path, CHECKING)["size"] == ["#define CHECK(c) (c)"]


def test_a_macro_of_a_source_is_meant_in_what_the_source_includes(tmp_path: Path) -> None:
    sources = {
        "list.h": "ENTRY(first, FAR)\n",
        "a.cc": '#define FAR 1\n#define ENTRY(name, how) int name = how;\n#include "list.h"\n',
    }
    assert any("#define FAR 1" in text for text in _named(tmp_path, sources)[""])


def test_an_explicit_instantiation_names_what_it_instantiates(tmp_path: Path) -> None:
    box, run = "template <class T> struct Box { T held; };", "template <class T> T run(T t) { return t; }"
    sources = {"a.h": f"#pragma once\nnamespace far {{\n{box}\n{run}\n}}\n"}
    sources["b.cc"] = '#include "a.h"\ntemplate int far::run(int t);\n'
    sources["c.cc"] = '#include "a.h"\ntemplate struct far::Box<int>;\n'
    repository, _ = index(tmp_path, sources)
    used = {repository.nodes[user].file: list(found) for user, found in enumerate(repository.spelled) if len(found)}
    assert used == {1: [1], 2: [0]}


def test_a_template_uses_the_variable_template_of_another_header_whose_arguments_it_gives(tmp_path: Path) -> None:
    variable = "#pragma once\ntemplate <typename T> constexpr int place_v = T::place;\nconstexpr int plain = 3;\n"
    user = '#include "place.h"\ntemplate <typename T> struct Box { static constexpr int at = place_v<T>; };\n'
    plain = '#pragma once\n#include "place.h"\ntemplate <typename T> int less(T plain) { return T::plain < 3; }\n'
    repository, _ = index(tmp_path, {"place.h": variable, "box.h": user, "less.h": plain})
    names = [node.chunk.name for node in repository.nodes]
    found = {
        names[user]: [names[used] for used in targets] for user, targets in enumerate(repository.spelled) if targets
    }
    assert found == {"Box": ["place_v"]}


def test_of_alternatives_the_one_that_the_file_includes_is_meant(tmp_path: Path) -> None:
    sources = {
        "old/view.h": "#pragma once\nclass View {\n public:\n  int size;\n};\n",
        "new/view.h": "#pragma once\nusing View = long;\n",
        "user.h": '#pragma once\n#include "old/view.h"\n#include "missing.h"\nMissing made(const View &view);\n',
    }
    assert not any("using View" in text for texts in _named(tmp_path, sources).values() for text in texts)
