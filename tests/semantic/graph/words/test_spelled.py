from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.semantic.graph.repository import build_repository
from tests.semantic.sources import Sources, analysed, index


def _named(tree: Path, sources: Sources) -> dict[str, set[str]]:
    """The names of chunks that name others by words alone, and the names of those."""
    repository, _ = index(tree, sources)
    names = [node.chunk.name for node in repository.nodes]
    return {names[user]: {names[used] for used in found} for user, found in enumerate(repository.spelled) if found}


def test_a_macro_names_the_macros_of_its_definition_and_no_word_of_a_comment_or_a_literal(tmp_path: Path) -> None:
    text = """\
#define INNER(v) ((v) + 1000)
#define ASIDE 1
#define OUTER(v) (INNER(v) * 2)  // not ASIDE
#define TEXT "INNER(1) ASIDE"
"""
    assert _named(tmp_path, {"a.cc": text}) == {"OUTER": {"INNER"}}


def test_a_macro_names_the_functions_that_its_definition_calls(tmp_path: Path) -> None:
    text = "void fail(int code);\nint size(void);\n#define CHECK(c) ((c) ? 0 : fail(c.size()))\n#define OTHER size\n"
    assert _named(tmp_path, {"a.cc": text + "void fail(int code) { throw code; }\n"}) == {"CHECK": {"fail"}}


def test_a_macro_names_no_type_that_has_the_name_of_its_variable(tmp_path: Path) -> None:
    header = "template <typename T> struct negated { static const bool value = !T::value; };\n"
    macro = "#define DESCRIBE(name) const char *name(bool negated) { return negated ? #name : 0; }\n"
    assert _named(tmp_path, {"a.cc": header + macro}) == {}


def test_a_macro_of_two_arms_is_the_one_that_the_parser_sees(tmp_path: Path) -> None:
    text = "#ifdef NEVER\n#define INNER 1\n#else\n#define INNER 2\n#endif\n#define OUTER INNER\n"
    repository, _ = index(tmp_path, {"a.cc": text})
    (used,) = repository.spelled[len(repository.nodes) - 1]
    node = repository.nodes[used]
    assert text[node.char_start : node.char_end] == "#define INNER 2"


def test_a_macro_names_a_macro_that_no_header_defines_by_itself(tmp_path: Path) -> None:
    header = "#pragma once\n#ifdef CORE\n#define LIKELY(c) (c)\n#endif\n"
    source = '#define CORE\n#include "likely.h"\n#include "get.h"\nint f(int v) { return LIKELY(GET(v)); }\n'
    sources = {"likely.h": header, "get.h": "#pragma once\n#define GET(v) LIKELY((v) > 0)\n", "a.c": source}
    assert _named(tmp_path, sources)["GET"] == {"LIKELY"}


BOTH = "#ifdef __cplusplus\n#define NONE {}\n#else\n#define NONE {0}\n#endif\nstruct point { int x; };\n"


@pytest.mark.parametrize(
    ("sources", "named"),
    [
        ({"both.h": BOTH, "a.c": '#include "both.h"\n', "b.cc": '#include "both.h"\n'}, {"NONE": {"NONE"}}),
        ({"both.h": BOTH, "a.c": '#include "both.h"\n'}, {}),
        ({"both.h": BOTH, "b.cc": '#include "both.h"\n'}, {}),
        ({"a.c": BOTH, "b.cc": "int b;\n"}, {}),
        ({"both.h": BOTH.replace("__cplusplus", "OTHER"), "a.c": '#include "both.h"\n', "b.cc": "int b;\n"}, {}),
    ],
    ids=["both languages", "C", "C++", "a source", "another condition"],
)
def test_a_macro_that_a_header_defines_for_c_and_for_cxx_names_its_other_definition_if_both_are_there(
    sources: Sources, named: dict[str, set[str]], tmp_path: Path
) -> None:
    files = [
        replace(facts, file=replace(facts.file, language="c" if facts.source.path.endswith(".c") else "c++"),
                parsed=replace(facts.parsed, standard=""))
        for facts, _ in analysed(tmp_path, sources)
    ]  # fmt: skip
    repository = build_repository(files)
    names = [node.chunk.name for node in repository.nodes]
    assert {
        names[user]: {names[used] for used in found} for user, found in enumerate(repository.spelled) if found
    } == named


def test_a_condition_names_the_macro_that_a_header_defines_not_that_of_a_source(tmp_path: Path) -> None:
    sources = {
        "a.c": '#define ALL\n#include "part.h"\nint a(void) { return PART; }\n',
        "inner.h": '#pragma once\n#define ALL\n#include "part.h"\n',
        "part.h": "#pragma once\n#ifdef ALL\n#else\n#define PART 1\n#endif\n",
    }
    repository, _ = index(tmp_path, sources)
    places = [(repository.files[node.file].source.path, node.chunk.name) for node in repository.nodes]
    (user,) = (number for number, place in enumerate(places) if place == ("part.h", "PART"))
    assert [places[used] for used in repository.spelled[user]] == [("inner.h", "ALL")]


def test_a_condition_does_not_name_the_macro_of_a_header_that_undefines_it(tmp_path: Path) -> None:
    sources = {
        "a.c": '#define ALL\n#include "part.h"\nint a(void) { return PART; }\n',
        "inner.h": '#pragma once\n#define ALL\n#include "part.h"\n#undef ALL\n',
        "part.h": "#pragma once\n#ifdef ALL\n#else\n#define PART 1\n#endif\n",
    }
    assert "PART" not in _named(tmp_path, sources)


def test_an_alias_of_a_namespace_is_used_in_the_namespaces_inside_of_it(tmp_path: Path) -> None:
    sources = {
        "far.h": "#pragma once\nnamespace far { struct Thing {}; }\nnamespace near { using far::Thing; }\n",
        "use.h": '#pragma once\n#include "far.h"\nnamespace near::deep {\nint take(Thing thing);\n}\n',
    }
    assert _named(tmp_path, sources) == {"near::deep::take": {"near::Thing"}}


def test_a_root_names_the_macros_of_its_conditions(tmp_path: Path) -> None:
    text = (
        "#define LEVEL 3\n\nint f() {\n#if LEVEL > 2 && \\\n    defined(OTHER)\n  return 1;\n#endif\n  return 2;\n}\n"
    )
    assert _named(tmp_path, {"a.cc": text}) == {"f": {"LEVEL"}}


def test_a_using_declaration_is_used_by_its_name_within_its_namespace(tmp_path: Path) -> None:
    text = """\
namespace far { struct Thing {}; namespace deep { struct Other {}; } }
int before(far::Thing);
namespace near {
using far::Thing;
namespace shallow = far::deep;
int with(Thing);
int also(shallow::Other);
}
int behind(far::Thing);
"""
    named = _named(tmp_path, {"a.cc": text})
    assert named == {"near::with": {"near::Thing"}, "near::also": {"near::shallow"}}


def test_what_a_using_declaration_names_does_not_use_it(tmp_path: Path) -> None:
    header = "#pragma once\nnamespace lib {\nnamespace deep { template <typename T> class Box; }\nusing deep::Box;\n}\n"
    other = '#include "a.h"\nnamespace lib { namespace deep { template <typename T> class Box; } }\n'
    assert _named(tmp_path / "two", {"a.h": header, "b.h": "#pragma once\n" + other}) == {}
    again = header.replace("}\n", "namespace deep { template <typename T> class Box; }\n}\n")
    assert _named(tmp_path / "one", {"a.cc": again}) == {}


def test_a_using_declaration_of_a_header_is_used_by_its_name_in_files_of_the_same_namespace(tmp_path: Path) -> None:
    header = "#pragma once\n#include <type_traits>\nnamespace lib {\nusing std::is_same;\n}\n"
    source = (
        '#include "a.h"\nint outside(std::is_same<int, int> *);\nnamespace lib { namespace deep {\n'
        "int with(is_same<int, long> *);\nint qualified(std::is_same<int, int> *);\n"
        "template <class T> int member(T *own) { return own->is_same + own -> is_same; }\n"
        "// Between two chunks, is_same is a word of a comment.\nint last(int v);  // is_same\n} }\n"
    )
    named = _named(tmp_path, {"a.h": header, "b.cc": source})
    assert named == {"lib::deep::with": {"lib::is_same"}}


@pytest.mark.parametrize("head", ["namespace", "inline namespace v1"])
def test_a_using_declaration_in_an_unnamed_or_inline_namespace_is_used_around_it_too(tmp_path: Path, head: str) -> None:
    text = (
        f"namespace far {{ struct Thing {{}}; }}\nnamespace near {{\n{head} {{\nusing far::Thing;\n}}\n"
        "int with(Thing);\n}\nint behind(far::Thing);\n"
    )
    [(user, used)] = _named(tmp_path / "source", {"a.cc": text}).items()
    assert user == "near::with" and {name.rpartition("::")[2] for name in used} == {"Thing"}


def test_a_using_declaration_in_an_inline_namespace_of_a_header_is_used_in_other_files(tmp_path: Path) -> None:
    header = "#pragma once\n#include <set>\nnamespace lib {\ninline namespace v1 {\nusing std::set;\n}\n}\n"
    source = '#include "a.h"\nnamespace lib {\nint with(set<int> *);\n}\n'
    assert _named(tmp_path, {"a.h": header, "b.cc": source}) == {"lib::with": {"lib::v1::set"}}


def test_a_using_declaration_of_a_header_outside_of_namespaces_is_used_outside_of_namespaces(tmp_path: Path) -> None:
    header = "#pragma once\n#include <set>\nnamespace lib { struct Set {}; }\nusing lib::Set;\n"
    source = '#include "a.h"\nint with(Set *);\nnamespace other { struct Set; int inside(Set *); }\n'
    named = _named(tmp_path, {"a.h": header, "b.cc": source})
    assert named["with"] == {"Set"} and "other::inside" not in named


def test_a_using_declaration_of_a_header_is_used_behind_the_name_of_its_namespace(tmp_path: Path) -> None:
    header = "#pragma once\n#include <set>\nnamespace lib { namespace details {\nusing std::set;\n} }\n"
    source = '#include "a.h"\nnamespace lib {\nint with(details::set<int> *);\nint without(std::set<int> *);\n}\n'
    assert _named(tmp_path, {"a.h": header, "b.cc": source}) == {"lib::with": {"lib::details::set"}}


def test_a_macro_that_a_source_defines_for_its_includes_says_nothing_about_other_files(tmp_path: Path) -> None:
    header = "#pragma once\n#ifdef HEADER_ONLY\n#define FN inline\n#else\n#define FN\n#endif\nFN int f(int v);\n"
    source = '#define HEADER_ONLY\n#include "a.h"\nint user() { return 1000003; }\n#ifdef HEADER_ONLY\nint n;\n#endif\n'
    named = _named(tmp_path, {"a.h": header, "b.cc": source})
    assert {user for user, used in named.items() if "HEADER_ONLY" in used} == {"n"}


def test_a_specialisation_names_the_template_that_it_is_of(tmp_path: Path) -> None:
    sources = {
        "a.h": "template <class T> struct Box;\ntemplate <class T> int size(T);\n",
        "b.cc": '#include "a.h"\ntemplate <> struct Box<int> {};\ntemplate <class T> struct Box<T *> {};\n'
        "template <> int size<int>(int) { return 4; }\n",
    }
    repository, _ = index(tmp_path, sources)
    assert [found for found in repository.spelled if found] == [[0], [0], [1]]


def test_a_name_in_dropped_code_refers_to_the_only_definition(tmp_path: Path) -> None:
    dropped = "int f(Only, Both) { return twice(1); }\n"
    sources = {
        "a.h": "struct Only {};\nstruct Both {};\nint twice(int);\n",
        "b.h": "namespace b { int twice(int); }\n",
        "c.cc": f"struct Both {{ int c; }};\n#ifdef NEVER\n{dropped}#endif\n",
    }
    *others, last = (facts for facts, _ in analysed(tmp_path, sources))
    start = sources["c.cc"].index(dropped)
    parsed = replace(last.parsed, skipped_ranges=((start, start + len(dropped)),))
    repository = build_repository([*others, replace(last, parsed=parsed)])
    (used,) = (found for found in repository.spelled if found)
    assert [(repository.nodes[n].file, repository.nodes[n].chunk.name) for n in used] == [(0, "Only"), (2, "Both")]


def _meant_by(tmp_path: Path, dropped: str) -> set[str]:
    """What `dropped` names of a repository in which each name stands once."""
    header = """\
namespace lib {
struct string {};
struct Thing { void message(); int size; };
int twice(int);
}
inline void lib::Thing::message() { size = 1; }
"""
    sources = {"a.h": header, "b.cc": f"#ifdef NEVER\n{dropped}\n#endif\n"}
    *others, last = (facts for facts, _ in analysed(tmp_path, sources))
    start = sources["b.cc"].index(dropped)
    parsed = replace(last.parsed, skipped_ranges=((start, start + len(dropped)),))
    repository = build_repository([*others, replace(last, parsed=parsed)])
    return {repository.nodes[used].chunk.name for found in repository.spelled for used in found}


@pytest.mark.parametrize(
    ("dropped", "meant"),
    [
        ("void f(lib::string s);", {"lib::string"}),
        ("void f(string s);", {"lib::string"}),
        ("void f(::std::string s);", set()),
        ("int f(int twice) { return twice; }", set()),
        ("namespace lib { void f(string s); }", {"lib::string"}),
        ("namespace other { void f(string s); }", set()),
        ("namespace other { int f() { return twice(1); } }", {"lib::twice"}),
        ("int f(const char *string, int n) { return string[n]; }", set()),
        ("int f() { auto string = g(); return string; }", set()),
        ("int f(const string &string) { return lib::string(string); }", {"lib::string"}),
        ("int f() { return lib::twice(1); }", {"lib::twice"}),
        ("int größe = 1; int f() { return lib::twice(1) … 2; }", {"lib::twice"}),
        ("int f() { return message(1); }", set()),
        ("int f(X x) { return x.message(); }", {"lib::Thing::message"}),
        ("int f(X *x) { return x->twice(1); }", set()),
        ("void Thing::f() { lib::Thing::message(); }", {"lib::Thing", "lib::Thing::message"}),
    ],
)
def test_a_name_in_dropped_code_refers_to_visible_names_only(tmp_path: Path, dropped: str, meant: set[str]) -> None:
    assert _meant_by(tmp_path, dropped) == meant


def test_a_file_that_was_not_parsed_is_linked_by_words(tmp_path: Path) -> None:
    facts = [each for each, _ in analysed(tmp_path, {"a.cc": "struct S {};\nint f(S);\n"}, parse=False)]
    assert list(build_repository(facts).spelled) == [[], [0]]


def test_a_macro_with_the_name_of_a_keyword_is_linked_to_no_word(tmp_path: Path) -> None:
    text = "#define long ??\nint between;\n#define WIDE (long)1000000\nlong wide() { return WIDE; }\n"
    facts = [each for each, _ in analysed(tmp_path, {"a.cc": text}, parse=False)]
    assert list(build_repository(facts).spelled) == [[], [], [], [2]]


def test_a_type_that_the_parser_did_not_find_is_the_one_of_that_name(tmp_path: Path) -> None:
    sources = {
        "port.h": "namespace port {\nclass Mutex {\n public:\n  void lock();\n};\nclass Mutex;\n}\n",
        "user.cc": '#include "generated.h"\nstruct Box {\n  port::Mutex mutex;\n  int lock;\n};\n',
    }
    assert _named(tmp_path, sources) == {"Box": {"port::Mutex"}}


def test_a_name_that_the_parser_found_elsewhere_is_not_looked_up_by_its_word(tmp_path: Path) -> None:
    sources = {
        "far.cc": "static int lock(int by) { return by + 1000000; }\n",
        "user.cc": "struct Box {\n  void lock(int);\n  void go() { lock(1); Unknown(2); }\n};\n",
    }
    assert _named(tmp_path, sources) == {}


def test_the_letters_of_a_number_name_nothing(tmp_path: Path) -> None:
    text = "#define xff(given) (given)\n#define MASK 0xff\nint masked(int given) { return given & MASK; }\n"
    assert "xff" not in _named(tmp_path, {"a.c": text}).get("MASK", set())


LOST = "unknown_t lost(void);\n"
"""A declaration that the parser gives up: a file with it has errors."""


@pytest.mark.parametrize(
    ("used", "using", "meant"),
    [
        ("static int shown(int v) { return v; }", "unknown_t table = { shown, 0 };", "shown"),
        ("static int shown(int v) { return v; }", "int other(void) { return unknown(shown); }", "shown"),
        ("static const int numbers[] = { 1, 2 };", "int other(void) { return unknown(numbers[0]); }", "numbers"),
        ("static int shown(int v) { return v; }", "int other(int shown) { return unknown(shown); }", ""),
        ("static int shown(int v) { return v; }", "int other(box *b) { return unknown(b->shown); }", ""),
    ],
)
def test_in_an_expression_that_the_parser_gave_up_names_of_the_file_are_found(
    used: str, using: str, meant: str, tmp_path: Path
) -> None:
    repository, _ = index(tmp_path, {"a.cc": f"{LOST}{used}\n{using}\n"})
    names = {repository.nodes[number].chunk.name for number in repository.spelled[len(repository.nodes) - 1]}
    assert names == ({meant} if meant else set())


def test_a_variable_of_another_file_is_not_looked_up_by_its_word(tmp_path: Path) -> None:
    sources = {"a.cc": f"{LOST}int other(int v) {{ return unknown(v, count); }}\n", "b.cc": "int count = 1000;\n"}
    repository, _ = index(tmp_path, sources)
    assert not repository.spelled[1]


def test_of_two_arms_the_one_that_the_parser_sees_is_found_by_its_word(tmp_path: Path) -> None:
    arms = "#ifdef NEVER\n#define API dropped\n#else\n#define API shown\n#endif\n"
    repository, _ = index(tmp_path, {"a.h": arms, "b.cc": '#include "none.h"\nAPI lost(void);\n'})
    (user,) = (number for number, node in enumerate(repository.nodes) if node.chunk.name.endswith("lost"))
    (used,) = repository.spelled[user]
    node = repository.nodes[used]
    assert "shown" in repository.files[node.file].source.text[node.char_start : node.char_end]


@pytest.mark.parametrize(("parameter", "kind"), [("box *v", "typedef"), ("struct box *v", "class_decl")])
def test_a_type_is_the_typedef_unless_its_tag_is_named(parameter: str, kind: str, tmp_path: Path) -> None:
    types = "struct box { int side; };\ntypedef struct box box;\n"
    dropped = f"int lost({parameter}) {{ return 1000000; }}\n"
    first, last = (facts for facts, _ in analysed(tmp_path, {"a.h": types, "b.cc": f"#ifdef NEVER\n{dropped}#endif\n"}))
    repository = build_repository(
        [first, replace(last, parsed=replace(last.parsed, skipped_ranges=((13, 13 + len(dropped)),)))]
    )
    (used,) = repository.spelled[len(repository.nodes) - 1]
    assert repository.nodes[used].chunk.kind == kind


def test_a_macro_names_the_macro_of_its_own_file(tmp_path: Path) -> None:
    header = "#define SIZE {size}\n#define TWICE (2 * SIZE)\n"
    repository, _ = index(tmp_path, {name: header.format(size=name[0]) for name in ("a.h", "b.h")})
    assert [list(found) for found in repository.spelled] == [[], [0], [], [2]]


def test_a_class_names_the_macro_in_its_head_though_its_header_does_not_include_it(tmp_path: Path) -> None:
    classes = "class EXPORT Reader { int size; };\nstruct stat *kept;\nclass Last final {};\n"
    sources = {"export.h": "#define EXPORT\nint stat(int number);\n", "reader.h": classes}
    assert _named(tmp_path, sources) == {"Reader": {"EXPORT"}}


def test_a_variable_template_that_no_code_instantiates_names_what_its_initializer_uses(tmp_path: Path) -> None:
    text = """\
namespace near {
template <class T> struct Has { static constexpr bool value = true; };
template <class T> constexpr bool one = Has<T>::value;
template <class T> constexpr bool two = one<T> || false;  // not Other
struct Other {};
}
"""
    assert _named(tmp_path, {"a.cc": text}) == {"near::one": {"near::Has"}, "near::two": {"near::one"}}


def test_a_partial_specialisation_of_a_variable_template_names_the_template(tmp_path: Path) -> None:
    text = "template <class T> constexpr bool one = true;\ntemplate <class T> constexpr bool one<T *> = false;\n"
    repository, _ = index(tmp_path, {"a.cc": text})
    assert [list(found) for found in repository.spelled] == [[], [0]]


def test_a_name_of_an_anonymous_namespace_is_visible_in_the_namespace_around_it(tmp_path: Path) -> None:
    text = """\
namespace near {
namespace { template <class T> constexpr bool one = true; }
template <class T> constexpr bool two = one<T>;
}
"""
    assert _named(tmp_path, {"a.cc": text}) == {"near::two": {"near::(anonymous)::one"}}


@pytest.mark.parametrize("is_included", [True, False])
def test_a_condition_names_no_macro_of_a_header_that_no_file_includes(is_included: bool, tmp_path: Path) -> None:
    user = "int user(int n) {\n#ifdef HAVE_PARTS\n  n += 7;\n#endif\n  return n + 1000003;\n}\n"
    sources = {"android.h": "#pragma once\n#define HAVE_PARTS 1\n", "user.c": user}
    sources["other.c"] = f'{"#include" if is_included else "//"} "android.h"\nint other;\n'
    assert ("HAVE_PARTS" in _named(tmp_path, sources).get("user", ())) is is_included
