"""The members of a class that another member brings, and what is left out of them."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from tests.semantic.sources import assembled, by_root

RECIPE = SemanticRecipe(strategy="per_chunk", replication=0, body_depth=0)
UNUSED = "".join(f"  int never_used_{n}(int first, int second) const;\n" for n in range(60))
OPTIONS = """\
  class Options {
   public:
    // The limit of everything.
    /* In bytes,
       not in characters. */
    int limit;  // kept
    int other() const { return limit; }
  };
"""


def _shown(tree: Path, members: str, body: str) -> str:
    sources = {
        "box.h": f"struct Box {{\n{members}{UNUSED}}};\n",
        "box.cc": f'#include "box.h"\nint use(Box& box) {{ {body} }}\n',
    }
    return by_root(assembled(tree, sources, RECIPE, 300))["use"].text


def test_a_reference_to_a_nested_class_that_is_declared_ahead_does_not_bring_its_definition(tmp_path: Path) -> None:
    members = f"  class Options;\n  int open(const Options& options);\n  int size();\n{OPTIONS}"
    text = _shown(tmp_path, members, "auto open = &Box::open; return open != nullptr ? 1000003 : 0;")
    assert "class Options;" in text and "int limit;" not in text


def test_a_member_by_value_brings_the_definition_of_a_nested_class(tmp_path: Path) -> None:
    text = _shown(tmp_path, f"  class Options;\n{OPTIONS}  Options options;\n", "return sizeof(box.options) + 1000003;")
    assert "int limit;" in text


def test_lines_with_only_a_comment_are_left_out_of_members(tmp_path: Path) -> None:
    text = _shown(tmp_path, f"{OPTIONS}  Options options;\n", "return box.options.limit + 1000003;")
    assert "The limit" not in text and "In bytes" not in text and "not in characters" not in text
    assert "    int limit;  // kept\n    int other() const { return limit; }\n" in text


def test_a_nested_class_with_a_whole_condition_is_shown(tmp_path: Path) -> None:
    nested = "  struct Part {\n#if BIG\n    long size;\n#else\n    int size;\n#endif\n  };\n"
    text = _shown(tmp_path, f"{nested}  Part part;\n", "return box.part.size + 1000003;")
    assert "  struct Part {\n#if BIG\n    long size;\n#else\n    int size;\n#endif\n  };" in text


def test_a_macro_that_defines_members_brings_the_functions_that_it_is_given(tmp_path: Path) -> None:
    define = "#define MAKE(type, name) int read(type* x) { return name(x); }\n"
    parsers = "  static int parse_char(void* x);\n  static int parse_int(void* x);\n"
    members = f"{parsers}{define}  MAKE(char, parse_char)\n#undef MAKE\n"
    text = _shown(tmp_path, members, "char one; return box.read(&one) + 1000003;")
    assert "parse_char(void* x);" in text and "parse_int" not in text


def test_a_word_in_a_comment_names_no_class(tmp_path: Path) -> None:
    others = "struct Graph { int nodes_of_graph[8]; };\n"
    sources = {
        "box.h": f"{others}struct Box {{\n  int size;  // as that of a Graph\n  Graph* graph;\n{UNUSED}}};\n",
        "box.cc": '#include "box.h"\nint use(Box& box) { return box.size + 1000003; }\n',
    }
    text = by_root(assembled(tmp_path, sources, RECIPE, 300))["use"].text
    assert "nodes_of_graph" not in text


def test_a_constructor_that_a_macro_defines_brings_the_one_that_another_macro_defines(tmp_path: Path) -> None:
    macros = (
        "#define FULL(type) type(int first, int second) : sum(first + second) {}\n"
        "#define SIMPLE(type) explicit type(int first) : type(first, 1) {}\n"
    )
    sources = {
        "box.h": f"{macros}struct Box {{\n  FULL(Box)\n  SIMPLE(Box)\n  int sum;\n{UNUSED}}};\n",
        "box.cc": '#include "box.h"\nint use() { Box box(1000003); return box.sum; }\n',
    }
    text = by_root(assembled(tmp_path, sources, RECIPE, 300))["use"].text
    assert "  FULL(Box)\n" in text and "  SIMPLE(Box)\n" in text and "never_used" not in text


def test_a_friend_brings_the_type_of_the_class_that_names_it(tmp_path: Path) -> None:
    members = "  template <typename T> struct Part {};\n  using part = Part<int>;\n  friend part;\n  int hidden;\n"
    sources = {
        "box.h": f"class Box {{\n{members}{UNUSED} public:\n  int shown() const;\n}};\n",
        "box.cc": '#include "box.h"\nint Box::shown() const { return hidden + 1000003; }\n',
    }
    text = by_root(assembled(tmp_path, sources, RECIPE, 300))["Box::shown"].text
    assert "friend part;" in text and "using part = Part<int>;" in text and "never_used" not in text


def test_a_friend_of_a_class_is_not_defined(tmp_path: Path) -> None:
    sources = {
        "box.h": f"class Lid {{\n public:\n  int size() const;\n{UNUSED}}};\n"
        f"class Box {{\n  friend Lid;\n  int hidden;\n{UNUSED} public:\n  int shown() const;\n}};\n",
        "box.cc": '#include "box.h"\nint Box::shown() const { return hidden + 1000003; }\n',
    }
    text = by_root(assembled(tmp_path, sources, RECIPE, 300))["Box::shown"].text
    assert "class Lid;" in text and "friend Lid;" in text and "class Lid {" not in text
