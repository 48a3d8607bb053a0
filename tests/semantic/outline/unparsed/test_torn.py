"""Nothing that stands in a file is lost: syntax that unknown macros tear is joined, and what is left over is kept."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.semantic.documents.lost import lost_bodies
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts, analyse
from megacpp_assets.semantic.tree.text import decode
from tests.semantic.parsing_trees import listing, parse_in_process
from tests.semantic.sources import one

KNOWN = "#define ATTR(x) __attribute__((x))\nATTR(cold) void live();\n"
DROPPED = [
    ("ATTR(cold) ATTR(hot) static int f(int v) { return v; }", "ATTR(cold) ATTR(hot) static int f(int v)"),
    ("NOTE(a) static void f() { int x; }", "NOTE(a) static void f()"),
    ("static NOTE(a) void f() { int x; }", "static NOTE(a) void f()"),
    ("template <class T>\nNOTE(a)\nT f(T t) { return t; }", "template <class T>\nNOTE(a)\nT f(T t)"),
    ("void f(int a, int b)\n    NOTE(mu_) {\n  int x;\n}", "void f(int a, int b)\n    NOTE(mu_)"),
    ("struct S {\n  friend int f(S s) { return 1; }\n};", "friend int f(S s)"),
]


def _native(text: str) -> tuple[FileFacts, str]:
    """Facts of a file, and the text of its signatures."""
    with tempfile.TemporaryDirectory() as name:
        parsed = parse_in_process(Path(name), {"a.cc": text})["a.cc"]
    facts, chars = analyse(listing({"a.cc": text})[0], decode("a.cc", text.encode()), parsed)
    marked = chars[c.STRUCTURE_IDS] == STRUCTURE_CATEGORIES.index("func_sig")
    return facts, "".join(letter for letter, mark in zip(text, marked.tolist(), strict=True) if mark)


@pytest.mark.parametrize(("function", "head"), DROPPED)
def test_a_dropped_function_behind_a_macro_with_arguments_is_one_function(function: str, head: str) -> None:
    text = KNOWN + "#ifdef NONE\n" + function + "\n#endif\n"
    facts, signatures = _native(text)
    assert signatures.split() == ("ATTR(cold) void live();" + head).split() or head in signatures
    assert _held(facts, text, function)


def test_a_dropped_class_behind_a_macro_with_arguments_is_a_class() -> None:
    text = '#ifdef NONE\nclass CAPABILITY("mutex") Lock {\n public:\n  void f() { int x; }\n};\n#endif\n'
    facts, _ = _native(text)
    assert [(root.kind, root.name) for root in facts.roots] == [("class_decl", "Lock")]


def test_a_body_behind_an_unknown_macro_belongs_to_it() -> None:
    text = 'namespace a {\nMATCHER(IsOK, "") { return arg.ok(); }\nint after;\n}\n'
    facts, _ = one(text)
    assert _held(facts, text, 'MATCHER(IsOK, "") { return arg.ok(); }')
    assert next(root.kind for root in facts.roots) == "func_body"


@pytest.mark.parametrize("before", ["// extern", "/* extern */", "/* a */ /* b */", "// a template", "//"])
def test_an_explicit_instantiation_behind_a_comment_is_kept(before: str) -> None:
    text = f"template <class T> T f(T v) {{ return v; }}\n{before}\ntemplate int f<int>(int);\n"
    facts, _ = one(text)
    assert _held(facts, text, "template int f<int>(int);")
    assert "template int f<int>(int);" not in _native(text)[1]


TORN = {
    "a template's function behind an unknown macro": (
        "template <typename T>\nQUALIFIER T insert(T const& base, int offset)\n{\n"
        '  CHECKED(limits<T>::is_integer, "integers only");\n  return insert(vec<1, T>(base), offset).x;\n}',
        "insert",
    ),
    "a function with an unknown calling convention, with macros in its body": (
        "static BOOL WINAPI handler(DWORD type) {\n  switch (type) {\n    case CTRL_C:\n      return dispatch(STOP);\n"
        "    default:\n      if (dispatch(HANG)) {\n        wait(1000);\n      }\n      return FALSE;\n  }\n}",
        "handler",
    ),
    "an unknown macro for the parentheses of a condition": (
        "#ifdef NONE\nbool known(page_t* page) {\n  if unlikely(map == NULL) {\n    if (!init()) return false;\n  }\n"
        "  check(map!=NULL);\n  if (!committed(page)) {\n    return false;\n  }\n  return true;\n}\n#endif",
        "known",
    ),
}


@pytest.mark.parametrize(("function", "name"), TORN.values(), ids=TORN.keys())
def test_a_function_that_no_parser_recognizes_is_a_root_with_its_body(function: str, name: str) -> None:
    text = f"#define STOP 2\n#define HANG 1\nint dispatch(int);\n{function}\nint after(int v) {{ return v; }}\n"
    facts, _ = one(text)
    body = function[function.index(name) : function.rindex("}") + 1]
    assert _held(facts, text, body)
    assert not list(lost_bodies(text.encode(), [(span.start, span.end) for span in facts.root_spans]))
    assert [root.name for root in facts.roots if root.kind == "func_body"][-2:] == [name, "after"]


WORDS = st.sampled_from(
    ["int QQ;", "void f() { QQ; }", "NOTE(QQ)", "{ QQ; }", "QQ", "class QQ", "template <class T>", ";", "}", "{", "\n",
     "\n#if 0\n", "\n#endif\n", "namespace n {", "// c\n", "struct S { int QQ; };", "operator", "::", "(", ")", '"s"',
     "friend QQ f();", "extern", "MAKE(QQ) {", "using QQ = int;"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=12), st.booleans())
def test_every_word_of_code_is_in_a_chunk(pieces: list[str], parse: bool) -> None:
    text = " ".join(pieces)
    facts, _ = one(text, parse=parse)
    lost = [at for at in range(len(text)) if text.startswith("QQ", at)]
    lost = [at for at in lost if not any(chunk.start <= at < chunk.end for chunk in facts.chunks)]
    assert not [text[at - 20 : at + 20] for at in lost]


def _held(facts: FileFacts, text: str, part: str) -> bool:
    """Whether one root holds `part` whole."""
    at = text.index(part)
    return any(
        facts.chunks[root.first].start <= at and at + len(part) <= facts.chunks[root.last - 1].end
        for root in facts.roots
    )
