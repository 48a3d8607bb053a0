"""A hypothesis strategy for small C and C++ trees with the constructs that parsers get wrong.

Each definition has a body with a number of its own, its mark. A test finds the mark in a document or learns from the
skip list why it is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

FIRST_MARK = 7_000_001
"""Larger than any other number of a tree, so that no other text contains a mark."""
Piece = Callable[["Pen"], str]


@dataclass(slots=True)
class Pen:
    """Writes pieces of one tree: it counts marks and draws what a piece leaves open."""

    draw: DrawFn
    marks: list[int] = field(default_factory=list)
    included: dict[str, str] = field(default_factory=dict)
    """Files in the folder `include` that the pieces include."""

    def mark(self) -> int:
        """Return a number that is used once in the tree."""
        self.marks.append(FIRST_MARK + len(self.marks))
        return self.marks[-1]

    def flip(self) -> bool:
        """Draw a truth value."""
        return self.draw(st.booleans())

    def body(self, indent: str = "") -> str:
        """Return a body with a mark. Half of them are longer than 200 bytes, from which roots must be unique."""
        mark, long = self.mark(), self.flip()
        more = "".join(f"{indent}    a = a * {step} + {mark % 89};\n" for step in range(12)) if long else ""
        return f"{{\n{more}{indent}    return a + {mark};\n{indent}}}"

    def name(self, stem: str = "f") -> str:
        """Return a name that stands for the next mark."""
        return f"{stem}{len(self.marks)}"

    def function(self) -> str:
        """Return a plain function."""
        return f"int {self.name()}(int a) {self.body()}\n"


def _attributes(pen: Pen) -> str:
    before = pen.draw(
        st.sampled_from(["[[nodiscard]] ", "__attribute__((noinline)) ", "API ", "API static inline ", ""])
    )
    return f'#define API __attribute__((visibility("default")))\n{before}{pen.function()}#undef API\n'


def _macro_namespace(pen: Pen) -> str:
    opened = pen.draw(st.sampled_from(["namespace lib {", "namespace lib { inline namespace v1 {", 'extern "C" {']))
    defined = f"#define LIB_BEGIN {opened}\n#define LIB_END {'}' * opened.count('{')}\n"
    return f"{defined}LIB_BEGIN\n{pen.function()}{pen.function()}LIB_END\n#undef LIB_BEGIN\n#undef LIB_END\n"


def _conditional_heads(pen: Pen) -> str:
    name = pen.name()
    return f"#ifdef WIDE\nlong {name}(long a)\n#else\nint {name}(int a)\n#endif\n{pen.body()}\n"


def _conditional_opening(pen: Pen) -> str:
    """Two heads with an opening brace each and one closing brace."""
    name, mark = pen.name(), pen.mark()
    return (
        f"#if defined(WIDE)\nlong {name}(long a) {{\n#else\nint {name}(int a) {{\n#endif\n    return a + {mark};\n}}\n"
    )


def _conditional_definitions(pen: Pen) -> str:
    name = pen.name()
    return f"#ifdef _WIN32\nint {name}(int a) {pen.body()}\n#else\nint {name}(int a) {pen.body()}\n#endif\n"


def _conditional_statement(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    either = "#if WIDE\n    if (a) {\n#else\n    while (a--) {\n#endif\n        a += 2;\n    }\n"
    return f"int {name}(int a) {{\n{either}    return a + {mark};\n}}\n"


def _x_macro(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    tags = f"RED{mark}, GREEN{mark}"
    listed = " ".join(f"X({tag.strip()})" for tag in tags.split(","))
    return (
        f"#define COLOURS(X) {listed}\n#define X(tag) tag,\nenum colour{mark} {{ COLOURS(X) NONE{mark} }};\n#undef X\n"
        f"int {name}(int a) {{\n    switch (a) {{\n#define X(tag) case tag: return a + tag;\n    COLOURS(X)\n#undef X\n"
        f"    default: return {mark};\n    }}\n}}\n#undef COLOURS\n"
    )


def _made_by_macro(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    return f"#define MAKE(name, value) int name(int a) {{ return a + value; }}\nMAKE({name}, {mark})\n#undef MAKE\n"


def _macro_braces(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    defined = "#define BEGIN(name) int name(int a) {\n#define END }\n"
    return f"{defined}BEGIN({name})\n    return a + {mark};\nEND\n#undef BEGIN\n#undef END\n"


def _class(pen: Pen) -> str:
    name = pen.name("Shape")
    inside = f"    int inside(int a) {pen.body('    ')}\n"
    friend = f"    friend int near(const {name} &, int a) {pen.body('    ')}\n" if pen.flip() else ""
    nested = f"    struct Part {{ int p; int part(int a) {pen.body('        ')} }};\n" if pen.flip() else ""
    fields = "private:\n    int x : 5, y;\n    union { int u; float f; };\n"
    built = f"{name}::{name}(int v) try : x(v), y{{v}} {{\n    x += {pen.mark()};\n}} catch (...) {{\n    throw;\n}}\n"
    return f"""\
class {name} final {{
public:
    explicit {name}(int v);
{inside}{friend}{nested}    int outside(int a);
    {name} &operator=(const {name} &) = default;
{fields}}};
{built}int {name}::outside(int a) {pen.body()}
"""


def _template(pen: Pen) -> str:
    name = pen.name()
    head = pen.draw(
        st.sampled_from(
            [
                "template <class T>\n",
                "template <class T, int N = (3 > 2)>\n",
                "template <class T> requires (sizeof(T) > 1)\n",
                "template <typename... T>\n",
            ]
        )
    )
    first = f"{head}auto {name}(int a) -> int {pen.body()}\n"
    return first + (f"template <> inline auto {name}<int>(int a) -> int {pen.body()}\n" if "class T>\n" in head else "")


def _concept(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    concept = f"template <class T> concept Goes{mark} = requires(T t) {{ t.go(); {{ t + {mark} }}; }};\n"
    return concept + f"template <Goes{mark} T>\nint {name}(T t, int a) {pen.body()}\n"


def _lambda(pen: Pen) -> str:
    return f"auto {pen.name('call')} = [](int a) noexcept {pen.body()};\n"


def _strings(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    text = pen.draw(st.sampled_from(['R"(}{")"', 'R"x(\n#if 0\n} )" {)x"', '"}}\\"{"', 'u8"//"', '"/*"']))
    return f"""\
const char *{name}(int a) {{
    static const char text[] = "{mark}";
    return a ? (const char *){text} : text; // }} {{
}}
"""


def _dead(pen: Pen) -> str:
    return f"#if 0\nint unbalanced(int a) {{ if (a) {{ it's broken\n#endif\n/* {{ */ {pen.function()}"


def _continued(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    return f"int \\\n{name}(int a) \\\n{{ // a comment that continues \\\n   }} here\n    return a + {mark};\n}}\n"


def _declarators(pen: Pen) -> str:
    mark = pen.mark()
    return f"""\
struct pair{mark} {{ int a, b; }} first{mark} = {{ {mark}, 2 }}, *second{mark};
typedef int (*handler{mark})(struct pair{mark} *, int [3]);
static handler{mark} table{mark}[2] = {{ 0, 0 }};
int (*choose{mark}(int a))(struct pair{mark} *, int [3]) {{
    return table{mark}[a];
}}
"""


def _plain(pen: Pen) -> str:
    comment = pen.draw(st.sampled_from(["", "// Adds.\n", "/** Adds. { */\n", "// \u00e9\u4e2d \U0001f600\n"]))
    return comment + pen.function()


def _extern_c(pen: Pen) -> str:
    return f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{pen.function()}\n#ifdef __cplusplus\n}}\n#endif\n'


def _included_namespace(pen: Pen) -> str:
    """Two included files, of which one opens the namespace and the other closes it."""
    pen.included |= {"open.inc": "namespace inner {\n", "close.inc": "} // namespace inner\n"}
    return f'#include "../include/open.inc"\n{pen.function()}#include "../include/close.inc"\n'


def _included_values(pen: Pen) -> str:
    """An enumeration and a table whose entries an included file lists."""
    name, mark = pen.name(), pen.mark()
    pen.included["values.def"] = "VALUE(one, 1)\nVALUE(two, 2)\n"
    listed = '#include "../include/values.def"\n#undef VALUE\n'
    return f"""\
enum value{mark} {{
#define VALUE(name, number) name##{mark} = number,
{listed}}};
int {name}(int a) {{
    static const int table[] = {{
#define VALUE(name, number) number + {mark},
{listed}    }};
    return table[a];
}}
"""


def _conditional_else(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    between = "#ifdef WIDE\n    } else if (a > 2) {\n        a = 3;\n#endif\n"
    return f"int {name}(int a) {{\n    if (a) {{\n        a = 2;\n{between}    }}\n    return a + {mark};\n}}\n"


def _conditional_class(pen: Pen) -> str:
    name = pen.name("Wide")
    heads = f"#ifdef WIDE\nclass {name} : public Base {{\n#else\nclass {name} {{\n#endif\n"
    return f"{heads}public:\n    int method(int a) {pen.body('    ')}\n}};\n"


def _unknown_macros(pen: Pen) -> str:
    """Macros of a header that is missing."""
    head = pen.draw(st.sampled_from(["LIB_EXPORT ", "LIB_CONST(3) ", "static LIB_INLINE ", ""]))
    inner = f"{head}{pen.function()}LIB_REGISTER(thing{pen.mark()});\n"
    wrapped = f"LIB_NAMESPACE_BEGIN\n{inner}LIB_NAMESPACE_END\n" if pen.flip() else inner
    return f'#include "missing/config.h"\n{wrapped}'


def _conditional_lists(pen: Pen) -> str:
    """Conditionals within a list of parameters and of enumerators, one inside the other."""
    mark = pen.mark()
    parameters = "int a\n#if WIDE\n    , long b\n#if DEEP > 2\n    , long c\n#endif\n#endif\n"
    values = (
        f"enum mode{mark} {{\n    FIRST{mark} = {mark},\n#ifdef WIDE\n    SECOND{mark},\n#endif\n    LAST{mark}\n}};\n"
    )
    return f"{values}int {pen.name()}({parameters}) {pen.body()}\n"


def _comments_between(pen: Pen) -> str:
    return f"int /* {{ */ {pen.name()} // (\n    (int a /* ) */)\n// {{\n/* body */ {pen.body()} /* end */;\n"


def _old_style(pen: Pen) -> str:
    name, mark = pen.name(), pen.mark()
    return f"int {name}(a, b)\n    int a;\n    char *b;\n{{\n    return a + b[0] + {mark};\n}}\n"


def _designated(pen: Pen) -> str:
    name, mark = pen.name("options"), pen.mark()
    value = f"[1] = {{ .on = {mark}, .run = 0 }},"
    return f"static struct {{ int on; int (*run)(int); }} {name}[] = {{\n    {value}\n}};\n{pen.function()}"


def _namespace(pen: Pen) -> str:
    head = pen.draw(st.sampled_from(["namespace lib {", "namespace {", "namespace a::b::c {", "inline namespace v2 {"]))
    return f"{head}\n{pen.draw(_piece(CPP))(pen)}{pen.function()}}} // namespace\n"


BOTH: tuple[Piece, ...] = (
    _plain, _attributes, _conditional_heads, _conditional_opening, _conditional_definitions, _conditional_statement,
    _x_macro, _made_by_macro, _macro_braces, _dead, _continued, _declarators, _extern_c, _unknown_macros,
    _conditional_lists, _comments_between, _conditional_else, _included_values,
)  # fmt: skip
C: tuple[Piece, ...] = (*BOTH, _old_style, _designated)
CPP: tuple[Piece, ...] = (
    *BOTH,
    _macro_namespace,
    _included_namespace,
    _conditional_class,
    _class,
    _template,
    _concept,
    _lambda,
    _strings,
    _namespace,
)


def _piece(pieces: tuple[Piece, ...]) -> SearchStrategy[Piece]:
    return st.sampled_from(pieces)


def _text(pen: Pen, pieces: tuple[Piece, ...]) -> str:
    return "\n".join(pen.draw(_piece(pieces))(pen) for _ in range(pen.draw(st.integers(2, 6))))


def _header(pen: Pen) -> str:
    guard = pen.draw(st.sampled_from(["#pragma once\n", "#ifndef LIB_H\n#define LIB_H\n", ""]))
    return guard + _text(pen, CPP) + ("#endif\n" if "LIB_H" in guard else "")


def _members(pen: Pen) -> tuple[str, str]:
    """A class whose members are in a file of its own, and that file."""
    inc = f"    int member{len(pen.marks)}(int a) {pen.body('    ')}\n    int shared = 1;\n"
    return f'struct Made{pen.mark()} {{\n    int own = 0;\n#include "members.inc"\n}};\n', inc


@dataclass(frozen=True, slots=True)
class Tree:
    """Files by path, and the marks of their definitions."""

    files: dict[str, bytes]
    marks: tuple[int, ...]


@st.composite
def trees(draw: DrawFn) -> Tree:
    """A tree of three to six files that include each other."""
    pen = Pen(draw)
    include = '#include "lib.h"\n'
    files = {"include/lib.h": _header(pen), "src/one.cc": '#include "../include/lib.h"\n' + _text(pen, CPP)}
    files["src/old.c"] = _text(pen, C)
    if pen.flip():
        files["src/made.cc"], files["src/members.inc"] = _members(pen)
    if pen.flip():
        files["src/unit.cppm"] = f"module;\n{include}export module unit;\nexport {pen.function()}{_text(pen, CPP)}"
    if pen.flip():
        files["third_party/copy/one.cc"] = files["src/one.cc"]
    if pen.flip():
        files["extras/all.cc"] = files["include/lib.h"] + files["src/one.cc"].partition("\n")[2]
    files |= {f"include/{name}": text for name, text in pen.included.items()}
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    last = draw(st.sampled_from(["", "\n// end"]))
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    coded = {path: mark + (text + last).replace("\n", ends).encode() for path, text in files.items()}
    return Tree({**coded, "LICENSE": b"Apache License, Version 2.0\n"}, tuple(pen.marks))
