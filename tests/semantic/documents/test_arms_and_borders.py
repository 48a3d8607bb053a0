"""Arms of conditionals, includes, and namespaces that macros open, as a document shows them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.documents import STRATEGIES, SemanticRecipe
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.judge import Fault, Rules
from megacpp_assets.semantic.documents.lots import ComposerPool, LocalComposers, Materials
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.documents.assembling import all_of, documents_of
from tests.semantic.sources import index

ALTERNATIVES = """\
#pragma once
#if defined(NEVER_DEFINED)
#define CHECKED_AND_TRAPPED(x) trap(x)
#else
#define CHECKED_AND_TRAPPED(x) (x)
#endif
int first(int value);
int second(int value);
"""
FIRST = '#include "config.h"\nint first(int value) { return CHECKED_AND_TRAPPED(value) + 1; }\n'


def test_arms_of_a_conditional_are_a_root_together_and_an_arm_as_context_is_under_its_condition(
    tmp_path: Path,
) -> None:
    documents = documents_of(tmp_path, {"config.h": ALTERNATIVES, "a.cc": FIRST})
    assert ALTERNATIVES.partition("\n")[2].strip() in documents["CHECKED_AND_TRAPPED"].text
    text = " ".join(documents["first"].text.split())
    assert "#if defined(NEVER_DEFINED) #else #define CHECKED_AND_TRAPPED(x) (x) #endif" in text
    assert text.count("#define CHECKED_AND_TRAPPED") == 1


def test_definitions_of_a_macro_in_two_arms_of_a_long_conditional_stand_under_their_conditions(tmp_path: Path) -> None:
    long = ALTERNATIVES.replace("#else", "// It is far to the other arm.\n" * 200 + "#else")
    texts = [" ".join(document.text.split()) for document in all_of(tmp_path, {"config.h": long, "a.cc": FIRST})]
    arms = "#if defined(NEVER_DEFINED) #define CHECKED_AND_TRAPPED(x) trap(x) #else #define CHECKED_AND_TRAPPED(x) (x)"
    assert any(arms in text for text in texts)


def test_a_class_is_declared_once_though_a_macro_comes_before_its_name_elsewhere(tmp_path: Path) -> None:
    members = "".join(f"  int member{n};\n" for n in range(100))
    sources = {
        "large.h": f"#define EXPORT\nclass EXPORT Large {{\n{members}}};\n",
        "user.cc": 'class Large;\nclass Other;\n#include "large.h"\n'
        "int user(Large *large, Other *other) { return (large ? 3000000 : 4000000) + (other ? 1000000 : 2000000); }\n",
    }
    (document,) = (
        entry for entry in all_of(tmp_path, sources, budget=200, strategy="file") if "int user" in entry.text
    )
    assert document.text.count("class Large;") == 1 and "class EXPORT" not in document.text
    assert document.text.index("class Large;") < document.text.index("int user")


def test_what_a_text_names_comes_before_what_a_macro_of_it_expands_to(tmp_path: Path) -> None:
    hidden, named = "hidden_in_the_macro" * 6, "named_in_the_text_itself" * 8
    sources = {
        "macro.h": f"int {hidden}();\n#define EXPANDED {hidden}()\n",
        "named.h": f"int {named}();\n",
        "z.cc": f'#include "macro.h"\n#include "named.h"\nint root() {{ return EXPANDED + {named}(); }}\n',
    }
    text = documents_of(tmp_path, sources, budget=180)["root"].text
    assert "#define EXPANDED" in text and f"int {named}();" in text
    assert f"int {hidden}();" not in text


def test_includes_are_those_of_files_of_which_a_root_or_a_body_stands_there(tmp_path: Path) -> None:
    body = "int seen(int v) { return v + 1000000; }\n"
    sources = {
        "declared.h": "#include <vector>\nint declared(int v);\n",
        "seen.h": f"#include <map>\n{body}",
        "z.cc": '#include <set>\n#include "declared.h"\n#include "seen.h"\n'
        + f"int root() {{ {'return declared(1) + seen(2);'} {'int v; ' * 30} }}\n",
    }
    text = documents_of(tmp_path, sources)["root"].text
    assert "int declared(int v);" in text and body.strip() in text
    assert "<set>" in text and "<map>" in text and "<vector>" not in text


def test_a_short_document_is_no_list_of_includes(tmp_path: Path) -> None:
    includes = "".join(f"#include <{name}>\n" for name in ("map", "set", "list", "array", "vector", "string", "memory"))
    short = documents_of(tmp_path, {"a.cc": f"{includes}typedef ::std::vector<int> Numbers;\n"})["Numbers"]
    assert short.text.count("#include") < 2


def test_roots_of_a_file_stand_as_in_it_where_no_use_is_seen(tmp_path: Path) -> None:
    inner = "namespace n {\nstruct Mask { int except; };\n}\nint outer() { return 1000000; }\n"
    arms = "#ifdef NEVER\nint never() { return n::Mask{1}.except; }\n#endif\n"
    (document,) = all_of(tmp_path, {"a.cc": f"int before() {{ return 2000000; }}\n{inner}{arms}"})
    places = [document.text.index(word) for word in ("before", "Mask", "outer", "never")]
    assert places == sorted(places)


def test_what_is_left_over_of_two_files_shares_no_document(tmp_path: Path) -> None:
    sources = {f"{name}.cc": f"int {name}(int value) {{ return value + 1000000; }}\n" for name in ("apple", "brick")}
    both = "int cup(int value) { return value + 3000000; }\nint dish(int value) { return value + 4000000; }\n"
    texts = [document.text for document in all_of(tmp_path, {**sources, "table.cc": both})]
    assert len(texts) == 3 and "int cup" in texts[2] and "int dish" in texts[2]


BORDERS = {
    "a macro's argument opens it, and another's closes it": (
        "#define LBRACE() {\n#define RBRACE() }\n#define HIDDEN(...) __VA_ARGS__\nnamespace lib {\n"
        "HIDDEN(namespace detail LBRACE())\nstruct Sum { int of(int a, int b) const { return a + b; } };\n"
        "HIDDEN(RBRACE())\nstruct All : detail::Sum { int twice(int v) { return of(v, v); } };\n}\n",
        "HIDDEN(namespace detail LBRACE())",
    ),
    "the macro that opens it declares what it needs": (
        "#define SUITE_OF(d, n) namespace n { namespace in { static const char* get() { return d; } } } namespace n\n"
        "#define SUITE(d) SUITE_OF(d, anonymous_1)\n#define CASE(f) static void f()\nint run(int value);\n"
        'SUITE("several nodes of a graph") {\n  CASE(one) { int value = 3; run(value); }\n'
        "  CASE(two) { int value = 4; run(value); }\n}\n"
        "int run(int value) { return value * 1000003; }\n",
        'SUITE("several nodes of a graph") {',
    ),
    "a brace of the file's own stands behind the macro, and a semicolon behind the one that closes it": (
        "#define LIB_BEGIN namespace lib { inline namespace v3\n#define LIB_END } static_assert(true)\n"
        "LIB_BEGIN\n{\nstruct Sum { int of(int a, int b) const { return a + b; } };\n}\nLIB_END;\n"
        "int twice(int value) { return lib::Sum().of(value, value) + 1000003; }\n",
        "LIB_BEGIN\n{",
    ),
    "the braces of both ends stand in the macros' lines": (
        "#define LIB_BEGIN namespace lib { inline namespace v3\n#define LIB_END } static_assert(true)\n"
        "LIB_BEGIN {\nstruct Sum { int of(int a, int b) const { return a + b; } };\n} LIB_END;\n"
        "int twice(int value) { return lib::Sum().of(value, value) + 1000003; }\n",
        "LIB_BEGIN {",
    ),
    "a comment stands behind the macro that opens it": (
        "#define LIB_BEGIN namespace lib { inline namespace v3\n#define LIB_END } static_assert(true)\n"
        "LIB_BEGIN // all of it\n{\nstruct Sum { int of(int a, int b) const { return a + b; } };\n}\nLIB_END;\n"
        "int twice(int value) { return lib::Sum().of(value, value) + 1000003; }\n",
        "LIB_BEGIN // all of it\n{",
    ),
}


@pytest.mark.parametrize(("text", "opening"), BORDERS.values(), ids=BORDERS.keys())
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_namespace_that_a_macro_opens_is_opened_once_and_closed(
    strategy: str, text: str, opening: str, tmp_path: Path
) -> None:
    class Recording(Rules):
        faults: ClassVar[list[Fault]] = []

        def fault(self, document: Document) -> Fault | None:
            self.faults += filter(None, [found := super().fault(document)])
            return found

    repository, store = index(tmp_path, {"a.cc": text})
    recipe = SemanticRecipe(strategy=strategy)
    composers = ComposerPool(LocalComposers(Materials(repository, store, recipe), Recording(repository)))
    entries = list(documents(repository, store, recipe, DOCUMENT_TOKENS, composers=composers))
    texts = [entry.text for entry in entries if isinstance(entry, Document)]
    inside = [text for text in texts if "int of(" in text or "int value = 3" in text]
    assert inside and all(opening in text for text in inside) and not Recording.faults


UNEXPANDED = """\
#include "declare.h"
int before(int v) { return v + 1000000; }
namespace LIB_NAMESPACE {
using std::map;
static const char text[] = "abcdefghijklmnopqrstuvw";
int inside(int v) { return before(v) + 1000000; }
} // namespace LIB_NAMESPACE
"""


def test_the_head_of_a_namespace_with_a_macro_that_only_the_build_defines_stays_whole(tmp_path: Path) -> None:
    sources = {"a.cc": UNEXPANDED, "declare.h": "#define LIB_NAMESPACE @LIB_NAMESPACE@\n"}
    found = [entry for entry in all_of(tmp_path, sources) if "char text[]" in entry.text]
    assert found and all("namespace LIB_NAMESPACE {" in entry.text for entry in found)
    assert {entry.broken_rule for entry in found} == {""}
