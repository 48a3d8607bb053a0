"""What context needs in order to compile is shown with it."""

from __future__ import annotations

from pathlib import Path

from tests.semantic.documents.assembling import documents_of

FILLER = "".join(f"  int never_used_{number};\n" for number in range(400))


def test_a_call_of_a_macro_that_defines_a_class_comes_with_the_members_that_the_macro_names(tmp_path: Path) -> None:
    sources = {
        "a.h": f"#pragma once\nstruct Case {{\n{FILLER}  int m_level;\n}};\n"
        f"struct Suite {{\n{FILLER}  int m_level;\n}};\n"
        "#define JOIN(a, b) a##b\n#define DECORATOR(name) struct name { int data; \\\n"
        "  void fill(Case &to) const { to.JOIN(m_, name) = data; } \\\n"
        "  void fill(Suite &to) const { to.JOIN(m_, name) = data; } }\nDECORATOR(level);\n",
        "a.cc": '#include "a.h"\nint user(level v) { return v.data + 1000000; }\n'
        "int other(const Case &one, const Suite &two) { return one.m_level + two.m_level + 1000000; }\n",
    }
    text = documents_of(tmp_path, sources, budget=600)["user"].text
    assert text.count("int m_level;") == 2 and "never_used" not in text


def test_a_function_that_returns_auto_comes_with_the_members_that_its_body_uses(tmp_path: Path) -> None:
    sources = {
        "a.h": f"#pragma once\nstruct Argument {{\n{FILLER}  bool is_used;\n}};\nclass Parser {{\n public:\n{FILLER}"
        "  Argument &operator[](int name) const;\n  auto used(int name) const { return (*this)[name].is_used; }\n};\n",
        "a.cc": '#include "a.h"\nint user(const Parser &v) { return v.used(1000000) ? 1000000 : 1000001; }\n',
    }
    text = documents_of(tmp_path, sources, budget=600)["user"].text
    assert "Argument &operator[](int name) const;" in text and "bool is_used;" in text and "never_used" not in text


def test_a_class_within_a_class_comes_with_the_members_that_its_functions_use(tmp_path: Path) -> None:
    sources = {
        "a.h": f"#pragma once\nstruct Reader {{\n{FILLER}  int last_error;\n  int unused_error;\n}};\n"
        f"class Client {{\n public:\n{FILLER}  struct Unused {{ Unused(int mode); }};\n  int take(Unused mode);\n"
        "  int go() { Unused mode = 1; return take(mode); }\n  struct Handle {\n    Reader reader;\n"
        "    int error() const { return reader.last_error; }\n  };\n  Handle open();\n};\n",
        "a.cc": '#include "a.h"\nint user(Client &v) { Client::Handle made = v.open(); return made.error() + 1000; }\n',
    }
    text = documents_of(tmp_path, sources, budget=600)["user"].text
    assert (
        "int last_error;" in text and "unused_error" not in text and "Unused" not in text and "never_used" not in text
    )


def test_a_function_that_a_macro_names_comes_with_the_members_that_it_uses(tmp_path: Path) -> None:
    sources = {
        "a.h": f"#pragma once\n#define LOAD load\nclass Archive {{\n public:\n{FILLER}  void read(void *to);\n}};\n"
        "template <class T> void LOAD(Archive &from, T &to) { from.read(&to); }\n",
        "a.cc": '#include "a.h"\nint user(Archive &from) { int made = 1000000; load(from, made); return made; }\n',
    }
    text = documents_of(tmp_path, sources, budget=600)["user"].text
    assert "void read(void *to);" in text and "never_used" not in text


def test_a_macro_without_what_it_expands_to_comes_with_the_macros_that_decide_whether_it_is_defined(
    tmp_path: Path,
) -> None:
    sources = {
        "a.h": "#pragma once\n#define HAS(x) (__cplusplus >= 1 && HAS_PART(x))\n#define HAS_PART(x) 1\n"
        f"#define LEVEL 2\n#define ALL(x) {'x += 1; ' * 800}\n"
        "#if HAS(all) && LEVEL > 1\n#define CHECK(x) ALL(x)\n#endif\n",
        "a.cc": '#include "a.h"\nvoid user(int v) { v += 1000000; CHECK(v) v += 1000001; }\n',
    }
    text = documents_of(tmp_path, sources, budget=600)["user"].text
    assert "#define CHECK(x) ALL(x)" in text and "#define ALL(x)" not in text
    assert "#define HAS(x)" in text and "#define HAS_PART(x) 1" in text and "#define LEVEL 2" in text
