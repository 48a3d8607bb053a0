from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.commands.toolchain import working_directory
from megacpp_assets.semantic.parsing.parsed import FLAG_DEFINITION, FLAG_OVERLOADED, Symbols
from megacpp_assets.semantic.parsing.worker import PLAIN_FLAGS
from tests.semantic.parsing_trees import toolchain, write_tree
from tests.semantic.slow_visitor import SlowVisitor

CALL, METHOD_REF, MACRO_USE, MACRO_DEFINITION, INCLUSION = 103, 102, 502, 501, 503

HEADER = """#pragma once
#define SQUARE(x) ((x) * (x))
#define MAKE(name) int name() { return helper(1); }
namespace lib {
inline namespace __1 { struct Versioned { int field; }; }
static int helper(int v) { return v; }
template <class T> struct Box { T value; T get() const { return value; } static int count; enum E { A, B }; };
template <> struct Box<int> { int value; int get() const { return 7; } };
template <class T> T twice(T v) { return v + v; }
template <> inline int twice(int v) { return 2 * v; }
template <class T> void take(T);
template <class T> void take(T) {}
void over(int); void over(double); void over(int, int);
}
"""
SOURCES = {
    "calls": """#include "lib.h"
using namespace lib;
MAKE(made)
int use(Box<double>& b, Box<int>& i, Versioned v) {
  int a = SQUARE(helper(made())) + b.get() + i.get() + twice(2.0) + twice(1) + v.field;
  take("x");
  auto f = [&](int x) { return x + a + (int)b.value; };
  return f(Box<double>::A) + Box<char>::count;
}
""",
    "templates": """#include "lib.h"
template <class T> struct Derived : lib::Box<T> {
  void go(T t) { lib::over(t); this->get(); t.member(1); undeclared(t); helper2(t); lib::over(t, t); }
  template <class U> auto helper2(U u) -> decltype(u + 1) { return lib::twice(u); }
};
template struct Derived<long>;
struct Plain { Plain(int); ~Plain(); operator bool() const; friend int peek(Plain& p) { return p.x; } int x = 0; };
Plain::Plain(int v) : x(v) {}
bool test() { Plain p{3}; Plain q = 4; return p && q && peek(p); }
""",
    "macros": """#include "lib.h"
#include "fragment.inc"
#if 0
int never() { return 0; }
#endif
#define LOCAL(a, b) a##b
int LOCAL(to, ken) = SQUARE(3);
#define BODY { int deep = lib::helper(SQUARE(2)); return deep; }
int bodied() BODY
enum Colour { Red, Green = SQUARE(2) };
typedef struct { int x; union { int y; float z; }; } Anonymous;
int values[] = {
#include "values.inc"
};
""",
    "odd parents": """struct P { int a, b; }; struct Q { P p[2]; int n; };
template <class T> struct V { T v; P ps[2]; };
template <class F> int call(F f) { return f(1); }
template <class T> int g(T f, int k) {
  V<T> w{f, {{k, 1}, {2, (3)}}};
  Q q = {{{1, 2}, P{k, k}}, k};
  switch (k) { case (2): return 1; }
  return call([f, &k, x = k + 1, q, w = (w.v)](int y) { return f(y) + k + x + q.n; });
}
enum E { A = (1), B = ((A) + 2) };
int bits[(A)]; int h() { return g([](int v) { return v; }, B); }
""",
    "opened elsewhere": """#include "open.h"
int inside() { return 1; }
#include "close.h"
int outside() { return wrapped::inside(); }
""",
    "broken": """#include "missing.h"
struct S { int a; void f() { unknown(a); other.b(); } };
int main() { S s; s.f( ; return }
int after() { return 1 +; }
""",
    "deep": "int f() { return " + "(" * 200 + "1" + ")" * 200 + "; }\n",
    "utf8": 'const char* s = "\u00e9\u4e16"; /* \u00e9 */ int after_\u00e9 = sizeof(s);\n',
    "crlf": '#include "lib.h"\r\nint a = SQUARE(2);\r\nint b() {\r\n  return a;\r\n}\r\n',
}
EXTRA = {
    "lib.h": HEADER,
    "fragment.inc": "int from_fragment() { return 5; }\n",
    "values.inc": "1, 2, 3\n",
    "open.h": "namespace wrapped {\n",
    "close.h": "}\n",
}


def arguments(language: str = "c++") -> list[str]:
    return ["-x", language, "-std=c++17", "-w", "-resource-dir", toolchain().resource_dir]


def parse(path: str, *more: str, flags: int = PLAIN_FLAGS, limit: int = 1_000_000) -> dict[str, Any]:
    found: dict[str, Any] = _visitor.parse(toolchain().library, path, [*arguments(), *more], flags, limit)
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_the_native_visitor_equals_the_reference_in_python(name: str, tmp_path: Path) -> None:
    write_tree(tmp_path, {**EXTRA, "a.cpp": SOURCES[name]})
    with working_directory(tmp_path):
        found = parse("a.cpp")
        slow = SlowVisitor("a.cpp", arguments(), PLAIN_FLAGS).walk()
    fast, symbols = found["cursors"], Symbols(**found["symbols"])
    for column in ("kind", "start", "end", "depth", "sibling", "parent"):
        assert fast[column].tolist() == [row[column] for row in slow], column
    assert symbols.usrs(fast["declares"]).tolist() == [row["usr"] for row in slow]
    assert ((fast["flags"] & FLAG_DEFINITION) > 0).tolist() == [row["definition"] for row in slow]
    used = symbols.usrs(fast["uses"]).tolist()
    wrong = [row for row, ref in zip(slow, used, strict=True) if ref not in row["refs"]]
    assert not wrong
    several = [len(row["refs"]) > 1 for row in slow]
    assert ((fast["flags"] & FLAG_OVERLOADED) > 0)[several].all()


class Walk:
    """A parse of one snippet, asked by name."""

    def __init__(self, folder: Path, name: str) -> None:
        self.source = SOURCES[name].encode()
        write_tree(folder, {**EXTRA, "a.cpp": self.source})
        with working_directory(folder):
            self.found = parse("a.cpp")
        self.symbols = list(Symbols(**self.found["symbols"]))
        self.names = {symbol.qualified_name for symbol in self.symbols}
        self.cursors = self.found["cursors"]

    def targets(self, text: str, kind: int = CALL) -> list[str]:
        """Qualified names that cursors of `kind` spelled `text` refer to."""
        c = self.cursors
        return [
            self.symbols[row].qualified_name if row >= 0 else ""
            for k, start, end, row in zip(c["kind"], c["start"], c["end"], c["uses"].tolist(), strict=True)
            if k == kind and self.source[start:end].decode() == text
        ]


def test_a_call_of_an_instantiation_refers_to_the_template_and_of_a_specialisation_to_itself(tmp_path: Path) -> None:
    walk = Walk(tmp_path, "calls")
    assert walk.targets("b.get()") == ["lib::Box::get"]
    kinds = {symbol.qualified_name: symbol.kind for symbol in walk.symbols}
    assert kinds["lib::Box"] == 31
    generic, special = (walk.cursors["uses"][_call_at(walk, text)] for text in ("b.get()", "i.get()"))
    assert generic != special
    assert walk.cursors["uses"][_call_at(walk, "twice(2.0)")] != walk.cursors["uses"][_call_at(walk, "twice(1)")]
    assert walk.targets("twice(1)") == ["lib::twice"]
    assert walk.targets('take("x")') == ["lib::take"]


def _call_at(walk: Walk, text: str) -> int:
    start = walk.source.index(text.encode())
    c = walk.cursors
    found = np.flatnonzero((c["kind"] == CALL) & (c["start"] == start) & (c["end"] == start + len(text)))
    return int(found[0])


def test_a_macro_argument_keeps_its_own_range_and_a_macro_body_gets_the_invocations(tmp_path: Path) -> None:
    walk = Walk(tmp_path, "calls")
    assert walk.cursors["uses"][_call_at(walk, "made()")] >= 0
    assert walk.targets("SQUARE(helper(made()))", MACRO_USE) == ["SQUARE"]
    declared = walk.cursors["declares"] >= 0
    assert b"MAKE(made)" in {
        walk.source[s:e] for s, e in zip(walk.cursors["start"][declared], walk.cursors["end"][declared], strict=True)
    }


def test_a_dependent_call_refers_to_an_overload_of_fitting_arity(tmp_path: Path) -> None:
    walk = Walk(tmp_path, "templates")
    for text in ("lib::over(t)", "lib::over(t, t)"):
        assert walk.targets(text) == ["lib::over"]
        assert walk.cursors["flags"][_call_at(walk, text)] & FLAG_OVERLOADED
    one, two = (walk.cursors["uses"][_call_at(walk, text)] for text in ("lib::over(t)", "lib::over(t, t)"))
    assert one != two


def test_versions_of_the_standard_library_leave_no_trace_in_names(tmp_path: Path) -> None:
    walk = Walk(tmp_path, "calls")
    assert "lib::Versioned::field" in walk.names
    assert not any("__1" in name for name in walk.names)


def test_skipped_ranges_and_includes_are_those_of_the_main_file(tmp_path: Path) -> None:
    walk = Walk(tmp_path, "macros")
    ((start, end),) = walk.found["skipped_ranges"]
    assert walk.source[start:end].startswith(b"#if 0")
    assert b"never" in walk.source[start:end]
    assert set(walk.found["includes"]) >= {b"a.cpp", b"lib.h", b"fragment.inc", b"values.inc"}
    assert "from_fragment" not in walk.names


@pytest.mark.parametrize(
    "condition",
    [
        "#if 0",
        "  # ifdef A",
        "#/**/if 0",
        "# \\\n if 0",
        "#i\\\nf 0",
        "%:if 0",
        "%: ifndef __cplusplus",
        "??=if 0",
        "#??/\nif 0",
    ],
)
def test_text_is_dropped_however_its_condition_is_spelled(tmp_path: Path, condition: str) -> None:
    write_tree(tmp_path, {"a.cpp": f"int a;\n{condition}\nint dropped;\n#endif\nint b;\n"})
    with working_directory(tmp_path):
        ((_, end),) = parse("a.cpp", "-trigraphs")["skipped_ranges"]
    assert (tmp_path / "a.cpp").read_bytes()[end - 6 : end] in {b"#endif", b"endif\n"}


def _declared(found: dict[str, Any]) -> list[int]:
    """USR hashes of what the cursors declare."""
    rows = found["cursors"]["declares"]
    usrs: list[int] = Symbols(**found["symbols"]).usrs(rows[rows >= 0]).tolist()
    return usrs


def test_static_functions_of_two_files_with_one_base_name_are_two_symbols(tmp_path: Path) -> None:
    text = "static int same(int v) { return v; }\n#define M 1\n"
    write_tree(tmp_path, {"one/util.cpp": text, "two/util.cpp": text})
    with working_directory(tmp_path):
        first, second = (set(_declared(parse(f"{folder}/util.cpp"))) for folder in ("one", "two"))
    assert len(first) == 3
    assert not first & second


def test_a_symbol_has_one_hash_seen_from_two_files(tmp_path: Path) -> None:
    write_tree(tmp_path, {"lib.h": HEADER, "a.cpp": SOURCES["calls"]})
    with working_directory(tmp_path):
        declared, used = (set(Symbols(**parse(path)["symbols"])) for path in ("lib.h", "a.cpp"))
    names = {symbol.qualified_name for symbol in declared & used}
    assert names >= {"lib::helper", "lib::take", "SQUARE", "MAKE", "lib::Box", "lib::Box::E::A", "lib::Box::count"}


def test_a_name_never_contains_a_file_position(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"a.cpp": "auto f = [](int x) { return x; }; struct { int v; } g; int h() { return f(g.v); }\n"}
    )
    with working_directory(tmp_path):
        found = parse("a.cpp")
    assert not any(" at " in name for column in ("qualified_name", "spelling") for name in found["symbols"][column])


def test_more_cursors_than_the_limit_is_a_failure(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.cpp": SOURCES["deep"]})
    with working_directory(tmp_path), pytest.raises(RuntimeError, match="limit"):
        parse("a.cpp", limit=10)


def test_a_missing_library_or_file_is_an_error_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot be loaded"):
        _visitor.version(str(tmp_path / "none.so"))
    with working_directory(tmp_path), pytest.raises(RuntimeError, match="libclang"):
        parse("none.cpp")


def test_the_hash_equals_that_of_the_reference() -> None:
    for text in ("c:@F@main", "x", "c:\u00e9"):
        assert _visitor.hash_text(text.encode()) == SlowVisitor._hash(text)
