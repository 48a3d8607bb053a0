from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CATEGORY_ID
from megacpp_assets.contract.recipe import SemanticRecipe
from megacpp_assets.semantic.documents.documents import SHORT, Document, Skipped
from tests.semantic.sources import Sources, assembled, by_root

SOURCES: Sources = {
    "lib.h": """\
#pragma once
#include <cstddef>
namespace lib {
// A pair of numbers, é.
struct Pair { int left; int right; };
int sum(const Pair &pair);
}
""",
    "lib.cc": """\
#include "lib.h"
namespace lib {
static int add(int a, int b) { return a + b; }
int sum(const Pair &pair) { return add(pair.left, pair.right); }
}
""",
    "main.cc": """\
#include "lib.h"
using lib::Pair;
int main() { Pair pair{1, 2}; return lib::sum(pair); }
""",
}


def _documents(tree: Path, sources: Sources = SOURCES, **limits: int) -> dict[str, Document]:
    return by_root(assembled(tree, sources, SemanticRecipe(**limits)))


def test_a_document_is_preamble_then_dependencies_by_level_then_the_root(tmp_path: Path) -> None:
    document = _documents(tmp_path)["main"]
    assert [(chunk.kind, chunk.name) for chunk in document.boundaries] == [
        ("preamble", ""),
        ("func_body", "lib::add"),
        ("class_decl", "lib::Pair"),
        ("func_body", "lib::sum"),
        ("func_body", "main"),
    ]
    assert document.text.startswith('#include "lib.h"\nusing lib::Pair;\n\n')
    levels = [chunk.dep_level for chunk in document.boundaries[1:]]
    assert levels == sorted(levels)


def test_a_root_inside_namespaces_is_led_by_their_openings(tmp_path: Path) -> None:
    document = _documents(tmp_path)["lib::sum"]
    space, root = document.boundaries[-2:]
    assert (space.kind, space.name) == ("namespace", "lib")
    assert document.text[space.char_offset : space.char_end] == "namespace lib {"
    assert root.char_end == len(document.text)


def test_every_chunk_lies_apart_and_in_order(tmp_path: Path) -> None:
    for document in _documents(tmp_path).values():
        spans = [(chunk.char_offset, chunk.char_end) for chunk in document.boundaries]
        assert all(start < end for start, end in spans)
        assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_constituents_are_the_files_bytes_and_joiners_are_blank(tmp_path: Path) -> None:
    for document in _documents(tmp_path).values():
        joined = np.ones(len(document.text), dtype=bool)
        for part in document.constituents:
            data = SOURCES[part.filepath].encode()[part.byte_start : part.byte_end]
            assert document.text[part.char_start : part.char_end].encode() == data
            joined[part.char_start : part.char_end] = False
        assert not "".join(np.array(list(document.text))[joined]).strip()
        assert not any(document.chars[name][joined].any() for name in c.CHAR_COLUMNS)


def test_columns_are_those_of_the_files(tmp_path: Path) -> None:
    document = _documents(tmp_path)["main"]
    at = document.text.index("return lib::sum")
    assert document.chars[c.STRUCTURE_IDS][at] == CATEGORY_ID["func_body"]
    assert document.chars[c.STRUCTURE_IDS][document.text.index("// A pair")] == CATEGORY_ID["comment"]
    assert len(document.chars) == len(document.text)


def test_edges_join_the_documents_own_chunks(tmp_path: Path) -> None:
    document = _documents(tmp_path)["main"]
    names = [chunk.name for chunk in document.boundaries]
    calls = {(names[caller], names[callee], sure) for caller, callee, sure in document.call_edges()}
    types = {(names[type_], names[user], sure) for type_, user, sure in document.type_edges()}
    assert calls == {("main", "lib::sum", "exact"), ("lib::sum", "lib::add", "exact")}
    assert types == {("lib::Pair", "main", "exact"), ("lib::Pair", "lib::sum", "exact")}


def test_what_is_too_far_is_left_out(tmp_path: Path) -> None:
    names = [chunk.name for chunk in _documents(tmp_path, dependency_depth=1)["main"].boundaries]
    assert "lib::sum" in names and "lib::add" not in names


def test_a_document_keeps_within_its_tokens_and_drops_the_farthest_first(tmp_path: Path) -> None:
    document = _documents(tmp_path, document_tokens=64)["main"]
    names = [chunk.name for chunk in document.boundaries]
    assert len(document.text) // 4 <= 64
    assert "lib::sum" not in names or "lib::add" not in names
    assert names[-1] == "main"


def test_dependencies_leave_room_for_what_the_estimate_misses(tmp_path: Path) -> None:
    long = "v = v + 1; " * 30
    steps = "".join(f"int step{n}(int v) {{ {long} return step{n - 1}(v); }}\n" for n in range(1, 30))
    text = f"int step0(int v) {{ return v + 1 - 1 + 0; }}\n{steps}int all(int v) {{ return step29(v); }}\n"
    document = _documents(tmp_path, {"a.cc": text}, document_tokens=1000, dependency_depth=30)["all"]
    assert 0.8 * 4 * 1000 < len(document.text) <= 0.9 * 4 * 1000


def test_a_root_over_the_limit_stays_whole(tmp_path: Path) -> None:
    text = f"int big() {{ {'int x = 1; ' * 100} return 0; }}\n"
    document = _documents(tmp_path, {"a.cc": text}, document_tokens=10)["big"]
    assert document.text == text.strip()


def test_a_text_is_the_root_of_one_document_and_its_copy_is_recorded(tmp_path: Path) -> None:
    text = "static int twin(int v) { return v * 2; }\n"
    entries = assembled(tmp_path, {"a.cc": text, "b.cc": text})
    assert [type(entry) for entry in entries] == [Document, Skipped]
    assert entries[1] == Skipped("b.cc", "twin", 0, len(text) - 1, "same text as a.cc:0")


def test_what_is_too_short_is_recorded(tmp_path: Path) -> None:
    (entry,) = assembled(tmp_path, {"a.cc": "void f() {}\n"})
    assert isinstance(entry, Skipped) and entry.reason == SHORT


def test_a_class_brought_along_is_whole_and_swallows_its_methods(tmp_path: Path) -> None:
    body = "int x = 0; " * 20
    text = f"""\
struct Tool {{
  int first;
  int turn() {{ {body} return first; }}
}};
int user(Tool &tool) {{ return tool.turn(); }}
"""
    document = _documents(tmp_path, {"a.cc": text})["user"]
    assert [chunk.name for chunk in document.boundaries] == ["Tool", "Tool::turn", "Tool", "user"]
    assert len(document.constituents) == 2


def test_every_definition_is_in_a_document_or_in_the_skip_list(tmp_path: Path) -> None:
    entries = assembled(tmp_path, SOURCES)
    roots = {entry.root.name for entry in entries if isinstance(entry, Document)}
    assert {"lib::Pair", "lib::sum", "lib::add", "main"} <= roots | {e.name for e in entries if isinstance(e, Skipped)}


def test_a_roots_namespaces_are_those_open_around_it(tmp_path: Path) -> None:
    text = """\
namespace a {
namespace b {
int inner() { return 100000; }
}
int outer() { return 200000; }
}
namespace c { int other() { return 300000; } }
"""
    documents = _documents(tmp_path, {"a.cc": text})
    openings = {
        name: [document.text[chunk.char_offset : chunk.char_end] for chunk in document.boundaries[:-1]]
        for name, document in documents.items()
    }
    assert openings == {
        "a::b::inner": ["namespace a {\nnamespace b {"],
        "a::outer": ["namespace a {"],
        "c::other": ["namespace c {"],
    }
