from __future__ import annotations

import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DEF_USE_USE
from megacpp_assets.semantic.labels.symbol_names import symbol_id
from tests.semantic.sources import one

DECLARED = """\
#include <cstddef>
struct B { B(int); B(int, int); };
struct C { C(); C(const char *); C(const C &); operator int() const; int z; };
template <class T> struct V { V(T); template <class U> V(T, U); };
namespace ns { struct N { N(int = 0); int operator()(int) const; }; using M = N; }
C operator+(const C &, const C &);
template <class T> bool operator==(const V<T> &, int);
C operator""_c(const char *, std::size_t);
int operator""_km(unsigned long long);
void take(void (*)(C)), pass(C), one(B);
"""

WRITTEN = [
    ("C a;", "a", "C::C"),
    ('C b("x");', "b", "C::C"),
    ("B l{1, 2};", "l", "B::B"),
    ("B k(1), m(2);", "m", "B::B"),
    ("V<int> v(3);", "v", "V::V"),
    ("V<int> w(3, 'c');", "w", "V::V"),
    ("V x(4);", "x", "V::V"),
    ("ns::N arr[3];", "arr", "ns::N::N"),
    ('pass(C("s"));', "C", "C::C"),
    ("pass(C{});", "C", "C::C"),
    ('pass({1 + "s"});', "{", "C::C"),
    ("auto n = ns::N(1);", "N", "ns::N::N"),
    ("auto n = ns::M(1);", "M", "ns::N::N"),
    ("auto p = new B(3);", "B", "B::B"),
    ("auto p = new ns::N;", "N", "ns::N::N"),
    ("auto p = new V<int>{3};", "V", "V::V"),
    ("one(static_cast<B>(3));", "B", "B::B"),
    ("one((B)3);", "B", "B::B"),
    ("operator+(c, c);", "operator+", "operator+"),
    ("operator== <int>(V<int>(1), 3);", "operator==", "operator=="),
    ("operator==<int>(V<int>(1), 3);", "operator==", "operator=="),
    ("ns::N f; f.operator()(4);", "operator()", "ns::N::operator()"),
    ("c.operator int();", "operator int", "C::operator int"),
    ('pass("s"_c);', "_c", 'operator""_c'),
    ("int far = 12_km;", "_km", 'operator""_km'),
]


@pytest.mark.parametrize(("statement", "caller", "callee"), WRITTEN)
def test_a_call_is_labelled_on_the_token_of_its_callee(statement: str, caller: str, callee: str) -> None:
    before = DECLARED + "void f(const C &c) { "
    calls, at = _calls(before + statement + " }\n"), len(before) + statement.index(caller)
    (found,) = set(calls[at : at + len(caller)])
    assert found in _ids(before + statement + " }\n", callee)


def test_initialisers_that_are_written_call_and_the_others_do_not() -> None:
    text = DECLARED + 'struct D : B { C c; C d; D() : B(1), c("x") {} D(char) : D() {} };\n'
    calls = _calls(text)
    assert calls[text.index("B(1)")] == symbol_id("B::B")
    assert calls[text.index('c("x")')] == symbol_id("C::C")
    assert calls[text.index("D() {}")] == symbol_id("D::D")
    assert not any(calls[text.index("C c; C d;") : text.index(": B(1)")])


@pytest.mark.parametrize(
    "statement", ['pass("s");', "pass(c);", "int k = c;", "C e = c;", "return c;", "take(pass);", "take(&pass);"]
)
def test_implicit_calls_and_plain_references_are_not_calls(statement: str) -> None:
    before = DECLARED + "C f(const C &c) { "
    calls = _calls(before + statement + " }\n")[len(before) :]
    named = {symbol_id(name) for name in ("pass", "take")} if "(" in statement else set()
    inner = calls[statement.find("(") + 1 : len(statement)]
    assert set(calls) <= named | {0} and not any(inner)


def test_an_operator_whose_address_is_taken_is_named_and_not_called() -> None:
    text = DECLARED + "auto g = &ns::N::operator();\n"
    _, chars = one(text)
    at = text.rindex("operator()")
    assert set(chars[c.SYMBOL_IDS][at : at + 8].tolist()) == {symbol_id("ns::N::operator()")}
    assert set(chars[c.DEF_USE][at : at + 8].tolist()) == {DEF_USE_USE}
    assert not chars[c.CALL_TARGETS][at : at + 8].any()


def test_what_a_macro_makes_is_called_by_the_macro() -> None:
    text = DECLARED + "#define MAKE(v) B made(v)\nvoid f() { MAKE(1); }\n"
    calls, at = _calls(text), text.rindex("MAKE")
    assert set(calls[at : at + len("MAKE(1)")]) == {symbol_id("MAKE"), 0}


def _calls(text: str) -> list[int]:
    return one(text)[1][c.CALL_TARGETS].tolist()


def _ids(text: str, name: str) -> set[int]:
    """Ids of the entities of `text` that people call `name`: libclang adds the parameters of a template."""
    names = {symbol.qualified_name for symbol in one(text)[0].parsed.symbols}
    return {symbol_id(known) for known in names if known == name or known.split("<")[0] == name}
