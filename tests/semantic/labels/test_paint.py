from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DEF_USE_DEF, DEF_USE_NONE, DEF_USE_USE, STRUCTURE_CATEGORIES
from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.labels.symbol_names import symbol_id
from megacpp_assets.semantic.outline.kinds import BUCKET_PREPROCESSOR
from tests.semantic.sources import labels, one

EXAMPLE = """\
// licence
#include "x.h"
#define TWICE(x) \\
  ((x) + (x))
using namespace outer;
namespace a {
class Later;
/* doc */
struct S : Base {
 public:
  int size() const { return n; /* in */ }
  void grow();
  S() = default;
  using T = int;
 private:
  int n = 0;
};
enum E { kOne, kTwo };
typedef unsigned word;
int twice(int v);
S::T outside(int v)
#ifdef FAST
noexcept
#endif
{ return TWICE(v); }
int table[] = {1, 2};
}  // namespace a
"""


@pytest.mark.parametrize("parse", [True, False], ids=["libclang", "tree-sitter"])
def test_each_category_has_its_text(parse: bool) -> None:
    # A directive inside a signature is beyond tree-sitter.
    text = EXAMPLE if parse else EXAMPLE.replace("#ifdef FAST\nnoexcept\n#endif\n", "")
    found = labels(text, parse=parse)
    assert found["comment"] == "//licence/*doc*//*in*///namespacea"
    assert found["preamble"].startswith('#include"x.h"#defineTWICE(x)\\((x)+(x))usingnamespaceouter;')
    assert found["preamble"].endswith("#ifdefFAST#endif") is parse
    assert found["namespace"] == "namespacea{}"
    assert found["class_decl"] == "classLater;structS:Base{public:private:};enumE{};"
    assert found["class_member"] == "voidgrow();S()=default;intn=0;kOne,kTwo"
    assert found["func_sig"] == "intsize()constinttwice(intv);S::Toutside(intv)" + "noexcept" * parse
    assert found["func_body"] == "{returnn;}{returnTWICE(v);}"
    assert found["typedef"] == "usingT=int;typedefunsignedword;"
    assert found["other"] == "inttable[]={1,2};"


def test_a_function_try_block_and_its_handlers_are_the_body() -> None:
    text = "int f(int a) try { return a; } catch (int) { return 1; } catch (...) { return 2; }\n"
    text += "struct S { int x; S() try : x(1) {} catch (int) { throw; } int m() try { return 1; } catch (...) {} };\n"
    found = labels(text)
    assert found["func_sig"] == "intf(inta)S()intm()"
    assert found["func_body"].count("catch") == 4


def test_what_the_preprocessor_drops_is_labelled_by_syntax() -> None:
    found = labels("int live;\n#if 0\nint dead() { return 1; }\nclass Gone { int m; };\n#endif\n")
    assert found["func_sig"] == "intdead()"
    assert found["func_body"] == "{return1;}"
    assert found["class_member"] == "intm;"


def test_a_test_macro_before_a_block_is_a_function() -> None:
    text = "#define TEST(a, b) struct a##b { void run(); }; void a##b::run()\nTEST(One, Two) { int x = 1; }\n"
    found = labels(text)
    assert found["func_sig"] == "TEST(One,Two)"
    assert found["func_body"] == "{intx=1;}"


def test_a_macro_that_opens_a_namespace_is_namespace_text() -> None:
    found = labels("#define OPEN namespace a {\n#define CLOSE }\nOPEN\nint f() { return 1; }\nCLOSE\n")
    assert found["namespace"] == "OPENCLOSE"


MACROS = '#define NOTE\n#define API __attribute__((visibility("default")))\n#define GUARDED(m)\n'
RULES = [
    ("NOTE void f();", "func_sig", "NOTEvoidf();"),
    ("API NOTE void f() {}", "func_sig", "APINOTEvoidf()"),
    ("NOTE using T = int;", "typedef", "NOTEusingT=int;"),
    ("namespace n {\nNOTE\nvoid f();\n}", "other", "NOTE"),
    ("[[noreturn]]\nvoid f();", "func_sig", "[[noreturn]]voidf();"),
    ("__attribute__((cold)) void f();", "func_sig", "__attribute__((cold))voidf();"),
    ("struct S {\n  API void f();\n};", "class_member", "APIvoidf();"),
    ("struct S {\n  NOTE\n  void f() {}\n};", "class_member", "NOTE"),
    ("struct API S {};", "class_decl", "structAPIS{};"),
    ("struct S { int v GUARDED(mu); };", "class_member", "intvGUARDED(mu);"),
    ("void f() GUARDED(mu);", "func_sig", "voidf()GUARDED(mu);"),
    ('extern "C" int f(int v) { return v; }', "func_sig", 'extern"C"intf(intv)'),
    ('extern "C" { int f(int v); }', "namespace", 'extern"C"{}'),
    ("struct S { S(); };\nS::S() = default;", "func_sig", "S::S()=default;"),
    ("#define ID(x) x\n#define ONE 1\nenum { kOne = ID(ONE), kTwo };", "class_member", "kOne=ID(ONE),kTwo"),
    ("#define RETURNS(e) { return e; }\nint f(int v) RETURNS(2 * v)", "func_body", "RETURNS(2*v)"),
    ("enum { kOne, kTwo } mode;", "other", "mode;"),
    ("#define REG(n) namespace a { int n; struct S { void f() {} }; }\nREG(x);", "other", "REG(x);"),
    ("#define KIND(n) struct n { enum { value = 1 }; }\nKIND(x);\n", "other", "KIND(x);"),
    ("#define ITER(n) using type = n\nstruct S {\n  ITER(int);\n};", "class_member", "ITER(int);"),
    ("struct S { template <class T>\n  friend class R; };", "class_member", "template<classT>friendclassR;"),
    ("template <class T> T f(T v);\ntemplate int f<int>(int);", "other", "templateintf<int>(int);"),
    ("template <class T> struct S {};\nextern template struct S<int>;", "other", "externtemplatestructS<int>;"),
    (
        "template <class T> struct S { template <class U> int f(U u); };\n"
        "template <class T>\ntemplate <class U>\nint S<T>::f(U u) {}",
        "func_sig",
        "template<classT>template<classU>intS<T>::f(Uu)",
    ),
    (
        "struct S { template <class T> auto f(T *t) const -> decltype(t->x(), 1); };",
        "class_member",
        "template<classT>autof(T*t)const->decltype(t->x(),1);",
    ),
    ("#define MOCK(n) void n() { } int n##_\nstruct S {\n  MOCK(Get);\n};", "class_member", "MOCK(Get);"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "category", "expected"), RULES)
def test_macros_before_declarations_are_distinguished_from_macros_alone(
    text: str, category: str, expected: str
) -> None:
    assert labels(MACROS + text + "\n")[category] == expected


def test_white_space_belongs_to_the_node_around_it() -> None:
    text = "int a;\n\nnamespace n {\n\nint f() {\n  return 1;\n}\n\n}\n"
    painted = [STRUCTURE_CATEGORIES[category] for category in one(text)[1][c.STRUCTURE_IDS].tolist()]
    assert painted[text.index("\n\n")] == "other"
    assert painted[text.index("\n\nint f")] == "namespace"
    assert painted[text.index("\n  return")] == "func_body"


def _column(text: str, name: str) -> NDArray[np.int64]:
    return one(text)[1][name].astype(np.int64)


def _values(text: str, name: str, word: str) -> set[int]:
    """Values of a column over every occurrence of `word`."""
    column, found, at = _column(text, name), set(), text.find(word)
    while at >= 0:
        found |= set(column[at : at + len(word)].tolist())
        at = text.find(word, at + 1)
    return found


CALLS = """\
namespace n { struct Box { Box(int v); int get() const; bool operator==(const Box &) const; }; }
template <class T> T twice(T v) { return v + v; }
int use(n::Box first) {
  n::Box second(3);
  return twice(first.get()) + (first == second);
}
"""


def test_names_carry_their_entity_and_whether_they_declare_or_use_it() -> None:
    assert _values(CALLS, c.SYMBOL_IDS, "get") == {symbol_id("n::Box::get")}
    assert _values(CALLS, c.DEF_USE, "get") == {DEF_USE_DEF, DEF_USE_USE}
    assert _values(CALLS, c.DEF_USE, "use") == {DEF_USE_DEF}
    assert _values(CALLS, c.DEF_USE, "return") == {0}


def test_a_callees_name_carries_the_call_and_nothing_else_does() -> None:
    assert symbol_id("twice") in _values(CALLS, c.CALL_TARGETS, "twice")
    assert _values(CALLS, c.CALL_TARGETS, "==") >= {symbol_id("n::Box::operator==")}
    assert _values(CALLS, c.CALL_TARGETS, "first") == {0}


def test_a_types_name_is_a_type_reference_where_it_is_used() -> None:
    assert _values(CALLS, c.TYPE_REFS, "n::Box") == {0, symbol_id("n::Box")}
    assert _values(CALLS, c.TYPE_REFS, "second") == {0}


def test_depth_grows_inwards_and_directives_are_preprocessor_nodes() -> None:
    text = "#define A 1\nint f(int v) { return v; }\n"
    depth, kind = _column(text, c.AST_DEPTH), _column(text, c.AST_NODE_TYPE)
    at = text.index("return")
    assert depth[text.index("int f")] == 1
    assert depth[at] == 3 and depth[text.index("v;")] > 3
    assert kind[0] == BUCKET_PREPROCESSOR
    assert kind[at] == 14


def test_columns_have_one_value_per_character_of_a_text_that_is_not_ascii() -> None:
    text = '// ünïcödé 漢字\nint f() { return g("é"); }\n'
    facts, chars = one(text)
    assert len(chars) == len(text) < len(facts.source.data)
    assert labels(text)["func_sig"] == "intf()"


def test_code_that_no_layer_claims_is_counted() -> None:
    assert one("int x;\n")[0].unlabelled == 0
    assert one("int x; @@ ;", parse=False)[0].unlabelled > 0


_NONE = -1
_ROW = st.integers(_NONE, 2)
_CURSORS = st.lists(st.tuples(st.integers(-1, 5), st.booleans(), _ROW, _ROW), min_size=1, max_size=6)
_TOKENS = st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 3), _ROW), max_size=8)


def _slow_name(token: tuple[int, int, int], cursors: list[tuple[int, bool, int, int]]) -> list[int]:
    """Symbol, mode and call of a token, found one cursor at a time; row r spells hash r."""
    cursor, spelled, symbol = token
    mode, call = DEF_USE_NONE, _NONE
    for _ in range(2):
        if cursor < 0:
            break
        above, is_call, declares, uses = cursors[cursor]
        for found, value in ((declares, DEF_USE_DEF), (uses, DEF_USE_USE)):
            if symbol == _NONE and found == spelled != _NONE:
                symbol, mode = found, value
        if call == _NONE and is_call and uses == spelled != _NONE:
            call = uses
        cursor = above
    return [symbol, mode, call]


@given(_TOKENS, _CURSORS)
def test_a_token_names_what_the_nearest_cursor_around_it_spells(
    tokens: list[tuple[int, int, int]], cursors: list[tuple[int, bool, int, int]]
) -> None:
    cursors = [(min(above, number - 1), *rest) for number, (above, *rest) in enumerate(cursors)]
    tokens = [(min(cursor, len(cursors) - 1), *rest) for cursor, *rest in tokens]
    innermost, hashes, symbol = np.array(tokens, dtype=np.int32).reshape(-1, 3).T.copy()
    parent, call, declares, uses = np.array(cursors, dtype=np.int32).T.copy()
    mode, called = np.full(len(symbol), DEF_USE_NONE, dtype=np.uint8), np.full(len(symbol), _NONE, dtype=np.int32)
    _visitor.name_tokens(
        innermost, hashes.astype(np.uint64), parent, call.astype(bool),
        declares, uses, np.arange(3, dtype=np.uint64), 2, symbol, mode, called,
    )  # fmt: skip
    assert np.stack([symbol, mode, called], axis=1).tolist() == [_slow_name(token, cursors) for token in tokens]


@pytest.mark.parametrize(("innermost", "parent", "row"), [(2, 0, 0), (1, 5, 0), (0, -1, 3)])
def test_a_missing_cursor_or_row_is_rejected(innermost: int, parent: int, row: int) -> None:
    unset, rows = np.full(1, _NONE, dtype=np.int32), np.array([0, row], dtype=np.int32)
    with pytest.raises(ValueError, match="no such"):
        _visitor.name_tokens(
            np.array([innermost], dtype=np.int32), np.array([9], dtype=np.uint64),
            np.array([-1, parent], dtype=np.int32), np.zeros(2, dtype=bool), rows, rows,
            np.arange(3, dtype=np.uint64), 5, unset, np.zeros(1, dtype=np.uint8), unset.copy(),
        )  # fmt: skip
