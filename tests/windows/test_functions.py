"""The functions and calls of one file, as the index of a tree has them."""

from __future__ import annotations

from megacpp_assets.semantic.outline.nodes import Role
from megacpp_assets.semantic.outline.unparsed.treesitter import syntax_outline
from megacpp_assets.versions._lines import line_starts
from megacpp_assets.versions.syntax import without_macros
from megacpp_assets.windows.functions import OWN_SCOPE, UNKNOWN_SCOPE, DeclarationParser, Functions, Names

TORN = b"""namespace io {
int save(const char* name) {
#ifdef _MSC_VER
  if (fopen_s(name)) {
#else
  if (!fopen(name)) {
#endif
    return 1;
  }
  return write();
}
int load() { return 0; }
}
"""


BROKEN = b"""namespace lib {
class Box {
public:
  Box() {}
  LIB_OLD("use size()")
  void put(const char* text, int length) {
    put(text, '}', length);
  }
  LIB_OLD("use size()")
  void put(const char* text, int length, int more) {
    put(text, '}', length);
  }
  bool has(int x) const;
  int size() const { return '}' + 1'000; }
private:
  class Inner { public: Inner(); private: explicit Inner(const Box& x); };
  explicit Box(const Inner::Values::iterator& current);
};
inline int Box::front() { return 1; }
namespace a::b {
void free() {}
}
}
void late() {}
"""


def _parsed(code: bytes) -> tuple[Functions, Names]:
    parser = DeclarationParser()
    return parser.functions_of(code, line_starts(code)), parser.names


def test_arms_that_each_open_a_block_do_not_hide_where_a_function_ends() -> None:
    found, names = _parsed(TORN)
    assert [names.name(number) for number in found.qualified] == ["io::save", "io::load"]
    assert list(zip(found.first.tolist(), found.end.tolist(), strict=True)) == [(1, 11), (11, 12)]
    assert [names.name(name) for name, _, _ in found.calls_of(0)] == ["fopen_s", "write"]


def test_scopes_that_a_syntax_error_hides_are_known_by_the_braces() -> None:
    found, names = _parsed(BROKEN)
    expected = ["lib::Box::size", "lib::Box::front", "lib::a::b::free", "late"]
    assert [names.name(number) for number in found.qualified] == expected
    assert names.name(int(found.scope[1])) == "Box"


def test_scopes_stay_as_they_are_if_braces_are_not_balanced() -> None:
    code = BROKEN + b"}\n"
    found, names = _parsed(code)
    outlined = [node.name for node in syntax_outline(without_macros(code)) if node.role is Role.FUNCTION]
    assert [names.name(number) for number in found.qualified] == outlined
    assert "lib::Box::front" not in outlined


def test_the_name_of_a_macro_with_a_body_has_its_arguments() -> None:
    found, names = _parsed(b"TEST(group,\n     case) { f(); }\nint RUN(int x) { return x; }\nRUN::RUN() {}\n")
    shown = [names.name(number) for number in found.qualified]
    assert shown == ["TEST(group, case)", "RUN", "RUN::RUN"]
    assert [names.name(number) for number in found.name] == ["TEST", "RUN", "RUN"]


def test_macros_become_blanks_but_not_in_directives() -> None:
    code = b"LIB_BEGIN\n#define LIB_API LIB_EXPORT int\nLIB_API void f();\n"
    assert without_macros(code) == b"         \n#define LIB_API LIB_EXPORT int\n        void f();\n"


def test_a_call_asks_for_the_scope_that_it_names() -> None:
    found, names = _parsed(b"void A::f() { g(); this->h(); b.k<int>(); x::Y::z(); T<int>::t(); }\n")
    calls = {names.name(name): asked for name, asked, _ in found.calls_of(0)}
    scopes = {name: names.name(asked) for name, asked in calls.items() if asked >= 0}
    assert scopes == {"z": "Y", "t": "T"}
    assert (calls["g"], calls["h"], calls["k"]) == (OWN_SCOPE, OWN_SCOPE, UNKNOWN_SCOPE)
    assert names.name(int(found.scope[0])) == "A"
