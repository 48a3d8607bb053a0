"""A macro has the same meaning in a document as in its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.items.items import Items
from megacpp_assets.semantic.documents.text.macro_order import MacroOrder
from tests.semantic.documents.assembling import documents_of
from tests.semantic.documents.text.pieces import alone
from tests.semantic.sources import assembled, by_root, index

FILE = SemanticRecipe(strategy="file", replication=0, body_depth=0)


def _text_of_file(tree: Path, sources: dict[str, str], part: str) -> str:
    """Return the document with `part` among its roots, of documents that have whole files as roots."""
    documents = by_root(assembled(tree, sources, FILE))
    return next(document.text for document in documents.values() if part in document.text)


def test_a_table_stands_between_the_definition_of_its_macro_and_the_next_one(tmp_path: Path) -> None:
    first = "#define ROW(name) int make_ ## name(void);\n#define ROWS ROW(first) ROW(second)\nROWS\n#undef ROW\n"
    table = "#define ROW(name) make_ ## name,\nint (*const makers[])(void) = { ROWS };\n#undef ROW\n"
    last = "#define ROW(name) #name,\nconst char *const names[] = { ROWS };\nint count(void) { return sizeof names; }\n"
    text = _text_of_file(tmp_path, {"a.c": first + table + last}, "names[]")
    places = [text.index(each) for each in ("int make_ ##", "make_ ## name,", "makers[]", "#name,", "names[]")]
    assert places == sorted(places)


def test_a_macro_comes_before_the_function_that_uses_it_though_it_names_a_macro_of_that_function(
    tmp_path: Path,
) -> None:
    source = (
        "#define ACCEPT goto accepted\n#define BACK(token) do { POP(token); ACCEPT; } while (0)\n"
        "int parse(int token) {\n#define POP(n) (token -= (n))\n  if (token > 1000000) BACK(1);\n  ACCEPT;\n"
        "accepted:\n  return token;\n}\n"
    )
    text = _text_of_file(tmp_path, {"a.c": source}, "int parse(")
    assert text.index("#define ACCEPT") < text.index("int parse(int token) {")


def test_a_macro_of_a_mixed_root_needs_nothing_that_needs_the_root(tmp_path: Path) -> None:
    source = (
        "typedef struct state_s *state;\n#define RESTART(s) restart(s)\n"
        "void restart(state s);\nstruct state_s { int at; };\n"
        "int run(state s) { if (s->at > 1000000) RESTART(s); return s->at; }\n"
    )
    text = _text_of_file(tmp_path, {"a.c": source}, "int run(")
    assert text.index("typedef struct state_s *state;") < text.index("void restart(state s);")


def test_a_list_that_another_list_defines_functions_of_comes_with_that_list(tmp_path: Path) -> None:
    sources = {
        "list.h": "#define EACH_OF(name) int check_ ## name(int);\n"
        "#define EACH \\\n  EACH_OF(plus) \\\n  EACH_OF(minus)\n"
        "EACH\n#undef EACH_OF\n",
        "a.c": '#include "list.h"\n#define EACH_OF(name) static int f_ ## name(int input) { return input + 1; }\nEACH\n'
        "#undef EACH_OF\nstatic int f_input(int v) { return v + 1000000; }\n"
        "struct entry { int (*call)(int); const char *name; };\nstatic const struct entry table[] = {\n"
        "#define EACH_OF(name) { f_ ## name, #name },\nEACH\n#undef EACH_OF\n  { missing_call, 0 },\n};\n"
        "int user(int v) { return table[0].call(v) + 1000000; }\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    places = [text.index(each) for each in ("static int f_ ## name", "\nEACH\n", "table[] = {")]
    assert places == sorted(places)


def test_a_second_definition_stands_below_the_text_that_undefines_the_first_one(tmp_path: Path) -> None:
    sources = {
        "rows.inc.h": "ROW(first)\nROW_NO(second)\n",
        "a.c": "#define ROW(name) static int make_ ## name(int v) { return v + 1000000; }\n#define ROW_NO(name)\n"
        '#include "rows.inc.h"\n#undef ROW_NO\n#undef ROW\n\nint between(int v) { return v + 1000000; }\n\n'
        "#define ROW(name) { make_ ## name },\n\n#define ROW_NO(name)\n\n"
        'static const struct { int (*call)(int); } table[] = {\n#include "rows.inc.h"\n};\n\n'
        "int user(int v) { return table[0].call(v) + 1000000; }\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    undefined, table = text.index("#undef ROW\n"), text.index("table[] = {")
    assert text.index("make_ ## name(int v)") < undefined < text.rindex("{ make_ ## name }") < table
    assert undefined < text.rindex("#define ROW_NO(name)") < table and text.count("#define ROW_NO(name)") == 2


def test_what_uses_a_macro_comes_after_the_function_that_the_macro_names(tmp_path: Path) -> None:
    sources = {
        "memory.h": "void *counted(int size);\n#define allocate counted\n#define ROOM(size) allocate(size)\n"
        "inline void *twice(int size) { return ROOM(2 * size); }\n",
        "a.cc": '#include "memory.h"\nvoid *counted(int size) { return size > 1000000 ? 0 : twice(size - 1); }\n'
        "struct hooks { void *(*make)(int); };\nstatic hooks all = { allocate };\n"
        "int user(int v) { return all.make(v) != 0 ? 1000000 : 1000001; }\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("void *counted(int size)") < text.index("static hooks all = { allocate };")


def test_a_using_directive_comes_behind_the_macro_that_opens_its_namespace(tmp_path: Path) -> None:
    sources = {
        "a.cc": '#include "lib.h"\nusing namespace lib;\nint user() { static int n = 1000003; return made() + n++; }\n',
        "lib.h": "#pragma once\n#define LIB_BEGIN namespace lib {\n#define LIB_END }\n"
        "LIB_BEGIN\nint made();\nLIB_END\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("#define LIB_BEGIN") < text.index("\nLIB_BEGIN") < text.index("using namespace lib;")


@pytest.mark.parametrize(("define", "is_needed"), [("above", True), ("below", False), ("elsewhere", True)])
def test_a_piece_comes_behind_the_macro_on_which_its_condition_depends(
    define: str, is_needed: bool, tmp_path: Path
) -> None:
    text = "#if !USE_WIDE\nenum class wide {};\n#endif\n"
    macro = "#define USE_WIDE 1\n"
    first = {"above": macro + text, "below": text + macro, "elsewhere": text}[define]
    repository, _ = index(tmp_path, {"a.h": first, "b.h": macro if define == "elsewhere" else "int other;\n"})
    items = Items(repository)
    pieces = [alone(repository, number) for number in range(len(repository.nodes))]
    needs: list[set[int]] = [set() for _ in pieces]
    MacroOrder(repository, items).arrange(pieces, needs, [frozenset()] * len(pieces))
    names = [node.chunk.name for node in repository.nodes]
    assert (names.index("USE_WIDE") in needs[names.index("wide")]) is is_needed


def test_a_piece_comes_behind_the_macro_that_opens_a_namespace_before_it(tmp_path: Path) -> None:
    sources = {"a.cc": "using namespace lib;\n", "b.h": "#define BEGIN namespace lib {\nBEGIN\nint made;\n}\n"}
    repository, _ = index(tmp_path, sources)
    pieces = [alone(repository, number) for number in range(len(repository.nodes))]
    needs: list[set[int]] = [set() for _ in pieces]
    opening = [frozenset({"BEGIN"}) if piece.file == 0 else frozenset[str]() for piece in pieces]
    MacroOrder(repository, Items(repository)).arrange(pieces, needs, opening)
    (begin,) = [number for number, node in enumerate(repository.nodes) if node.chunk.name == "BEGIN"]
    assert [begin in needed for needed, piece in zip(needs, pieces, strict=True) if piece.file == 0] == [True]


DEFAULT = "#pragma once\n#ifndef ASSERT\n#define ASSERT(c) ((void)(c))\n#endif\n"


@pytest.mark.parametrize("condition", ["#ifndef ASSERT", "#if !defined(ASSERT)", "#ifdef ASSERT\n#else"])
def test_the_default_of_a_macro_comes_behind_what_another_header_defines_without_it(
    condition: str, tmp_path: Path
) -> None:
    more = "#define ASSERT(c) ((void)0)\n#define EXPECT(c, e) (e)\n"
    sources = {
        "a.h": DEFAULT + "static inline int first(int v) { ASSERT(v); return v + 1000000; }\n",
        "b.h": f"#pragma once\n{condition}\n{more}#endif\n",
        "c.cc": '#include "b.h"\nint second(int v) { ASSERT(v); return EXPECT(v, 1000000); }\n',
        "d.cc": '#include "a.h"\nint second(int v);\nint user(int v) { ASSERT(v); return first(v) + second(v); }\n',
    }
    text = documents_of(tmp_path, sources, body_depth=2)["user"].text
    assert 0 < text.index("#define EXPECT") < text.index("#define ASSERT(c) ((void)(c))")


@pytest.mark.parametrize("other", ["#define ASSERT(c) abort()\n", DEFAULT])
def test_a_macro_that_is_always_defined_comes_before_what_is_shown_without_it(other: str, tmp_path: Path) -> None:
    sources = {"a.h": other + "int more;\n", "b.h": "#ifndef ASSERT\nint checked;\n#endif\nint more;\n"}
    repository, _ = index(tmp_path, sources)
    pieces = [alone(repository, number) for number in range(len(repository.nodes))]
    needs: list[set[int]] = [set() for _ in pieces]
    MacroOrder(repository, Items(repository)).arrange(pieces, needs, [frozenset()] * len(pieces))
    assert needs == ([{2}, set(), set(), set()] if other == DEFAULT else [set(), set(), {0}, set()])


NAME = "#pragma once\n#if !defined(LIB_NAMESPACE)\n#define LIB_NAMESPACE lib::v1\n#endif\n"
SHAPE = "namespace LIB_NAMESPACE::inner {\nstruct Shape { int sides = 1000003; };\n}\n"


def test_the_macro_that_names_a_namespace_comes_before_the_first_text_inside_of_it(tmp_path: Path) -> None:
    user = "namespace LIB_NAMESPACE {\nint user(inner::Shape& x) { static int n = 1000003; return n++ + x.sides; }\n}\n"
    sources = {"name.h": NAME, "shape.h": '#pragma once\n#include "name.h"\n' + SHAPE}
    text = documents_of(tmp_path, {**sources, "user.cc": '#include "shape.h"\n' + user}, 400)["lib::v1::user"].text
    assert text.index("#define LIB_NAMESPACE lib::v1") < text.index("LIB_NAMESPACE::inner {") < text.index("user(")


def test_the_macro_that_names_a_namespace_comes_though_the_parser_could_not_expand_it(tmp_path: Path) -> None:
    sources = {"name.h": NAME, "shape.h": "#pragma once\n" + SHAPE}
    text = documents_of(tmp_path, sources, 400)["LIB_NAMESPACE::inner::Shape"].text
    assert text.index("#define LIB_NAMESPACE lib::v1") < text.index("LIB_NAMESPACE::inner {")


def test_what_stands_above_the_default_of_a_macro_under_its_condition_comes_before_it(tmp_path: Path) -> None:
    sources = {
        "wide.h": "#pragma once\n#if !defined(WIDE_MAX) && defined(__SIZEOF_INT128__)\n"
        "typedef unsigned __int128 wide;\n#define WIDE_MAX ((wide)(-1))\n#endif\n",
        "a.c": '#include "wide.h"\nint is_last(wide number) { return number == WIDE_MAX && number > 1000000; }\n',
    }
    document = by_root(assembled(tmp_path, sources, FILE))["is_last"]
    assert document.text.index("typedef unsigned __int128 wide;") < document.text.index("#define WIDE_MAX")
