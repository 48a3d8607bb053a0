"""In a template, a member of a type that depends on its parameters is one of the type's own template."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.parsing.parsed import FLAG_OVERLOADED
from tests.semantic.parsing_trees import parse_in_process

CALL = 103
TYPES = """\
template <class T> struct Base { void inherited(T); };
template <class T> struct Box : Base<T> {
  explicit Box(T);
  int run(T) const;
  int run(T, int) const;
  static Box none();
  Box<T>* next;
  template <class U> U as() const;
};
namespace far { template <class T> struct Limits { static T least(); }; }
struct Plain { int run(int); };
"""


def _called(tmp_path: Path, statement: str) -> list[str]:
    members = f"typedef Box<T> Alias; Box<T> box; void f(T t) {{ {statement} }}"
    text = f"{TYPES}template <class T> struct Owner {{ {members} }};\n"
    found = parse_in_process(tmp_path, {"a.cc": text})["a.cc"]
    cursors = found.cursors
    assert found.errors == 0 and cursors is not None
    calls = [i for i in range(len(cursors.kind)) if cursors.kind[i] == CALL and cursors.start[i] > len(TYPES)]
    assert all(cursors.flags[i] & FLAG_OVERLOADED for i in calls if cursors.uses[i] >= 0)
    return [found.symbols.qualified_name[cursors.uses[i]] if cursors.uses[i] >= 0 else "" for i in calls]


@pytest.mark.parametrize(
    ("statement", "callee"),
    [
        ("Box<T> b(t); b.run(t);", "Box::run"),
        ("const Box<T>& b = box; b.run(t, 2);", "Box::run"),
        ("Box<T>* b = &box; b->run(t);", "Box::run"),
        ("this->box.run(t);", "Box::run"),
        ("box.next->run(t);", "Box::run"),
        ("box.inherited(t);", "Base::inherited"),
        ("box.template as<int>();", "Box::as"),
        ("Alias::none();", "Box::none"),
        ("Box<T>::none();", "Box::none"),
        ("far::Limits<T>::least();", "far::Limits::least"),
        ("Alias made = Alias(t);", "Box::Box<T>"),
        ("t.run(1);", ""),
        ("T::none();", ""),
        ("box->run(t);", ""),
        ("box.absent(t);", ""),
    ],
)
def test_a_call_finds_the_member_of_the_template_of_its_object(statement: str, callee: str, tmp_path: Path) -> None:
    assert _called(tmp_path, statement) == [callee]


def test_a_call_resolves_to_the_member_with_the_same_number_of_parameters(tmp_path: Path) -> None:
    text = TYPES + "template <class T> int f(Box<T>& b, T t) { return b.run(t, 1); }\n"
    found = parse_in_process(tmp_path, {"a.cc": text})["a.cc"]
    cursors = found.cursors
    assert cursors is not None
    (call,) = (cursors.kind == CALL).nonzero()[0]
    declared = cursors.declares.tolist().index(cursors.uses[call])
    assert text[cursors.start[declared] : cursors.end[declared]] == "int run(T, int) const"


def test_a_class_that_is_its_own_base_does_not_loop(tmp_path: Path) -> None:
    text = """\
template <class T> struct A;
template <class T> struct B : A<T> {};
template <class T> struct A : B<T> {};
template <class T> void f(A<T>& a) { a.absent(); }
"""
    assert parse_in_process(tmp_path, {"a.cc": text})["a.cc"].errors == 0


def test_a_call_whose_callee_is_a_macro_argument_is_found(tmp_path: Path) -> None:
    text = """\
bool even(int);
bool odd(int);
#define CHECK_(expression) if (expression) return
#define CHECK(test, value) CHECK_(test(value))
#define TWICE(statement) statement; statement
void f() { CHECK(even, 2); TWICE(CHECK(odd, 3)); }
"""
    found = parse_in_process(tmp_path, {"a.cc": text})["a.cc"]
    cursors = found.cursors
    assert cursors is not None
    calls = (cursors.kind == CALL).nonzero()[0].tolist()
    spans = {(found.symbols.qualified_name[cursors.uses[i]], text[cursors.start[i] : cursors.end[i]]) for i in calls}
    assert spans == {("even", "CHECK(even, 2)"), ("odd", "CHECK(odd, 3)")}
