"""A reader of an id in a document's columns finds its name, its kind and, where a file declares it, its place."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract import columns as c
from megacpp_assets.semantic.documents.symbols import SYMBOLS_FILE, write_symbols
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.symbol_rows import without_place
from megacpp_assets.semantic.labels.symbol_names import symbol_id
from megacpp_assets.storage.publish import Publication
from tests.semantic.sources import analysed, one

SOURCES = {
    "a.h": "#pragma once\n#define SIDE 3\nnamespace shape {\nint area(int width);\n}\n",
    "b.cc": """\
#include "a.h"
template <class T>
T twice(T value) { const T doubled = value + value; return doubled; }
int shape::area(int width) {
  int height = SIDE;
  return __builtin_abs(twice(width) * height);
}
""",
}
SAME_ID = ("name35854", "name64252")
Row = dict[str, Any]


def _table(folder: Path, sources: Mapping[str, str]) -> list[Row]:
    return _written(folder / "out", [facts for facts, _ in analysed(folder / "tree", sources)])


def _written(folder: Path, files: Sequence[FileFacts]) -> list[Row]:
    publication = Publication(folder)
    written = write_symbols(publication, files)
    rows: list[Row] = pq.read_table(folder / SYMBOLS_FILE).to_pylist()
    assert written.rows == publication.entries[0].rows == len(rows)
    assert written.declared == {(row["qualified_name"], row["kind"]) for row in rows if row["filepath"] is not None}
    return rows


def _ids(chars: np.ndarray[Any, Any]) -> set[int]:
    return set(np.unique(np.concatenate([chars[name] for name in (c.SYMBOL_IDS, c.CALL_TARGETS, c.TYPE_REFS)]))) - {0}


def test_locals_parameters_macros_and_namespaces_have_the_place_that_declares_them(tmp_path: Path) -> None:
    texts = {
        (row["qualified_name"], row["kind"], row["filepath"]): SOURCES[row["filepath"]][
            row["byte_start"] : row["byte_end"]
        ]
        for row in _table(tmp_path, SOURCES)
        if row["filepath"]
    }
    assert texts["SIDE", "macro", "a.h"] == "SIDE 3"
    assert texts["shape", "namespace", "a.h"] == "namespace shape {\nint area(int width);\n}"
    assert texts["shape::area::width", "parameter", "a.h"] == "int width"
    assert texts["shape::area::width", "parameter", "b.cc"] == "int width"
    assert texts["shape::area::height", "variable", "b.cc"] == "int height = SIDE"
    assert texts["twice::T", "template_parameter", "b.cc"] == "class T"
    assert texts["twice::doubled", "variable", "b.cc"] == "const T doubled = value + value"


def test_what_no_file_declares_has_a_name_and_no_place(tmp_path: Path) -> None:
    (row,) = (row for row in _table(tmp_path, SOURCES) if row["filepath"] is None)
    assert row == {
        "symbol_id": symbol_id("__builtin_abs"), "qualified_name": "__builtin_abs", "kind": "function",
        "definition": False, "filepath": None, "byte_start": None, "byte_end": None,
    }  # fmt: skip


def test_what_another_file_declares_has_that_place_alone(tmp_path: Path) -> None:
    places = [row["filepath"] for row in _table(tmp_path, SOURCES) if row["qualified_name"] == "SIDE"]
    assert places == ["a.h"]


def test_rows_are_sorted_by_place_then_by_id_and_none_is_there_twice(tmp_path: Path) -> None:
    calls = "int all(int v) { return __builtin_abs(v) + __builtin_ctz(v) + __builtin_ffs(v) + __builtin_clz(v); }\n"
    rows = _table(tmp_path, SOURCES | {"z.cc": calls, "0.cc": calls})
    inside = [row for row in rows if row["filepath"]]
    outside = rows[len(inside) :]
    assert all(row["filepath"] is None for row in outside) and len(outside) == 4
    assert inside == sorted(inside, key=lambda row: (row["filepath"], row["byte_start"], row["qualified_name"]))
    assert outside == sorted(outside, key=lambda row: row["symbol_id"])
    assert len({tuple(row.values()) for row in rows}) == len(rows)


def test_two_names_with_one_id_both_have_rows(tmp_path: Path) -> None:
    first, second = SAME_ID
    assert symbol_id(first) == symbol_id(second)
    rows = _table(tmp_path, {"a.cc": f"int {first};\nint use() {{ int {second} = {first}; return {second}; }}\n"})
    assert {first, f"use::{second}"} <= {row["qualified_name"] for row in rows}
    both = _table(tmp_path / "both", {"a.cc": f"int {first};\nint {second};\n"})
    assert [row["qualified_name"] for row in both if row["symbol_id"] == symbol_id(first)] == [first, second]
    assert [row.name for row in without_place({(second, "function"), (first, "function")})] == [first, second]


def test_a_file_that_was_not_parsed_still_tells_what_its_syntax_declares(tmp_path: Path) -> None:
    facts, _ = one("int lone() { return 1; }\n", parse=False)
    assert [row["qualified_name"] for row in _written(tmp_path, [facts])] == ["lone"]


def test_no_file_at_all_is_an_empty_table(tmp_path: Path) -> None:
    assert _table(tmp_path, {}) == []


_LINES = [
    "int free_one(int a) { auto f = [a](int b) { return a + b; }; return f(a); }",
    "#define ADD(a, b) ((a) + (b))",
    "template <class T, int N> struct Box { T items[N]; T first() const { return items[0]; } };",
    "using Ints = Box<int, 3>;",
    "enum class Color { red, green };",
    "namespace deep { namespace inner { struct Tag {}; inline int tagged(Tag) { return __LINE__; } } }",
    "struct Sum { int v; Sum operator+(const Sum &o) const { Sum r{v + o.v}; return r; } };",
    "int adding(int x, int y) { struct Local { int z; } l{x}; return ADD(l.z, y); }",
    "template <class T> concept Any = true;",
    "int missing(int x) { return undeclared(x) + __builtin_popcount(x); }",
    "static int counter = 0; int next() { return counter++; }",
]


@settings(max_examples=15, deadline=None)
@given(lines=st.lists(st.sampled_from(_LINES), min_size=1, unique=True))
def test_every_id_that_a_character_may_have_is_in_the_table(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        files = analysed(Path(name).resolve(), {"a.cc": "\n".join(lines[1:]), "b.cc": lines[0]})
        known = {row["symbol_id"] for row in _written(Path(name) / "out", [facts for facts, _ in files])}
    met: set[int] = set().union(*(_ids(chars) for _, chars in files))
    assert met and met <= known
