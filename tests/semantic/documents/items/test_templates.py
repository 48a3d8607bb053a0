"""What class templates need in documents, and no reference of the parser names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.semantic.documents.assembling import documents_of

TRAITS = """\
#pragma once
template <typename T> struct is_text { static constexpr bool value = false; };
template <> struct is_text<char> { static constexpr bool value = true; };
template <typename T> struct is_text<T *> { static constexpr bool value = is_text<T>::value; };
template <typename T> struct is_text<T[99]> {
  static constexpr bool value = false;
%s};
template <typename T> struct lone { static constexpr bool value = false; };
"""
LONG = "".join(f"  static constexpr int never_used_{number} = {number};\n" for number in range(30))
USER = (
    '#include "traits.h"\n'
    "template <typename T> int user(T) { int n = 1000003; n++; return is_text<T>::value ? n : 0; }\n"
)


def test_the_short_specialisations_of_a_template_come_with_it_before_its_users(tmp_path: Path) -> None:
    text = documents_of(tmp_path, {"traits.h": TRAITS % LONG, "user.h": "#pragma once\n" + USER})["user"].text
    places = [
        text.index(each)
        for each in ("struct is_text {", "struct is_text<char> {", "struct is_text<T *> {", "int user(")
    ]
    assert places == sorted(places)
    assert "never_used" not in text and "lone" not in text


NEVER_USED = "".join(f"  int never_used_{number}();\n" for number in range(99))
READER = f"""\
#pragma once
template <typename C = char> struct Narrow {{
  typedef C Unit;
  static const int width = 1;
{NEVER_USED}}};
template <typename Encoding> struct Reader {{
  typedef typename Encoding::Unit Unit;
  Unit first() {{ return Unit(Encoding::width); }}
{NEVER_USED}}};
typedef Reader<Narrow<> > NarrowReader;
"""


def _user(tmp_path: Path, header: str, body: str, budget: int = 400) -> str:
    """Return the document of a function with that body, which includes `header`."""
    user = f"int user() {{ static int n = 1000003; n++; {body} return n; }}\n"
    return documents_of(tmp_path, {"lib.h": header, "user.cc": '#include "lib.h"\n' + user}, budget)["user"].text


def test_an_argument_of_a_template_shows_what_templates_ask_of_it(tmp_path: Path) -> None:
    text = _user(tmp_path, READER, "Reader<Narrow<> > reader; n += reader.first();")
    assert "typedef C Unit;" in text and "int width = 1;" in text and "never_used" not in text


def test_the_arguments_of_a_template_are_complete_where_a_typedef_names_an_instance(tmp_path: Path) -> None:
    text = _user(tmp_path, READER, "NarrowReader reader; n += reader.first();")
    assert "struct Narrow {" in text and "typedef C Unit;" in text and "never_used" not in text


VALUE = f"""\
#pragma once
template <typename Encoding, typename Pool> class Document;
template <typename Encoding, typename Pool> class Value {{
 public:
  explicit Value(Document<Encoding, Pool> *all);
{NEVER_USED}}};
struct Heap {{}};
template <typename Encoding, typename Pool = Heap> class Document : public Value<Encoding, Pool> {{
 public:
  Document();
{NEVER_USED}}};
"""


def test_a_template_with_default_arguments_is_declared_ahead_as_in_its_file(tmp_path: Path) -> None:
    text = _user(tmp_path, VALUE, "Document<int> all; Value<int, Heap> one(&all);")
    assert text.index("class Document;") < text.index("class Value {") < text.index("class Document : public")


@pytest.mark.parametrize("head", ["typename T = int", "unsigned N = sizeof(int[2]), class T = char"])
def test_a_declaration_that_gives_default_arguments_comes_with_the_template(head: str, tmp_path: Path) -> None:
    ahead, given = f"template <{head}> struct Box;\n", re.sub(r" = [^,]+", "", head)
    box = f'#pragma once\n#include "ahead.h"\ntemplate <{given}> struct Box {{ T held;\n{NEVER_USED}}};\n'
    user = '#include "lib.h"\nint user() { static int n = 1000003; Box<> box; box.held = n; return n++; }\n'
    text = documents_of(tmp_path, {"ahead.h": "#pragma once\n" + ahead, "lib.h": box, "user.cc": user}, 400)[
        "user"
    ].text
    assert text.index(ahead) < text.index("int user()")


def test_a_template_without_default_arguments_needs_no_declaration_ahead(tmp_path: Path) -> None:
    box = "template <typename T> struct Box"
    header = f"#pragma once\n{box};\n{box} {{ T held;\n{NEVER_USED}}};\n"
    text = _user(tmp_path, header, "Box<int> box; box.held = n;")
    assert "struct Box {" in text and "struct Box;" not in text


def test_a_member_that_is_named_inside_of_a_class_comes_with_it(tmp_path: Path) -> None:
    header = f"""\
#pragma once
template <typename T> struct Writer {{
  static const int depth = 32;
  typedef T Unit;
{NEVER_USED}}};
template <typename T> struct Pretty : public Writer<T> {{
  typedef Writer<T> Base;
  explicit Pretty(int levels = Base::depth);
  typename Writer<T>::Unit last();
{NEVER_USED}}};
"""
    text = _user(tmp_path, header, "Pretty<int> pretty; n += pretty.last();")
    assert "int depth = 32;" in text and "typedef T Unit;" in text and "never_used" not in text


def test_what_a_class_template_uses_of_its_fields_comes_with_it(tmp_path: Path) -> None:
    ring = "".join(f"  bool never_used_{number}(); // {'word ' * 20}\n" for number in range(90))
    header = f"""\
#pragma once
template <typename T> struct Ring {{
  bool full();
{ring}}};
template <typename T> struct Queue {{
  bool wait() {{
    // {"a queue waits while it is full. " * 40}
    static int waited = 0;
    return this->held.full() && ++waited;
  }}
  // {"the ring that a queue holds. " * 40}
  Ring<T> held;
}};
"""
    text = _user(tmp_path, header, "Queue<int> queue; n += queue.wait();", 2000)
    assert "Ring<T> held;" in text and "bool full();" in text and "never_used" not in text


def test_what_a_template_asks_of_an_argument_that_another_one_passes_on_comes_too(tmp_path: Path) -> None:
    header = f"""\
#pragma once
struct Narrow {{
  typedef char Unit;
  typedef int Never;
{NEVER_USED}}};
template <typename Encoding> struct Inner {{ typename Encoding::Unit unit; }};
template <typename Encoding = Narrow> struct Outer {{
  Inner<Encoding> inner;
{NEVER_USED}}};
"""
    text = _user(tmp_path, header, "Outer<> outer; n += outer.inner.unit;")
    assert "typedef char Unit;" in text and "Never;" not in text and "never_used" not in text


def test_an_instantiated_constructor_comes_with_its_class(tmp_path: Path) -> None:
    box = f"#pragma once\nclass Box {{\n public:\n  template <typename T> Box(T *first, T *last);\n{NEVER_USED}}};\n"
    lib = '#include "box.h"\ntemplate Box::Box(int *first, int *last);\nextern int unused_for_length;\n'
    text = documents_of(tmp_path, {"box.h": box, "lib.cc": lib}, 400)
    assert "template <typename T> Box(T *first, T *last);" in next(
        t.text for t in text.values() if "Box::Box(" in t.text
    )


def test_a_base_that_aliases_of_aliases_name_is_complete(tmp_path: Path) -> None:
    header = f"""\
#pragma once
template <typename T> struct Core {{ T held;
{NEVER_USED}}};
template <typename T> struct Checked : Core<T> {{ int checks;
{NEVER_USED}}};
template <typename T> using Short = Checked<T>;
template <typename T> using Usual = Short<T>;
template <typename T> struct Input : Usual<T> {{ int inputs;
{NEVER_USED}}};
"""
    text = _user(tmp_path, header, "Input<int> input; n += input.inputs;", 500)
    places = [text.index(f"struct {name}") for name in ("Core {", "Checked : Core", "Input : Usual")]
    assert places == sorted(places) and "never_used" not in text


@pytest.mark.parametrize(
    "argument",
    [
        "using Wide = Narrow;",
        "using Wide = inner::Narrow;",
        "using Wide = ::inner::Narrow;",
        "using Wide = Alike<int>;",
        "struct Wide : Narrow {};",
        "struct Wide final\n  : public ::Narrow {};",
        "struct Middle : Narrow {};\nusing Wide = Middle;",
        "namespace inner { struct Middle : Narrow {}; }\nusing Wide = inner::Middle;",
    ],
)
def test_what_a_template_asks_of_an_argument_is_shown_of_its_alias_or_of_its_base(
    argument: str, tmp_path: Path
) -> None:
    header = f"""\
#pragma once
struct Narrow {{
  typedef char Unit;
  typedef int Never;
{NEVER_USED}}};
namespace inner {{ using ::Narrow; }}
template <typename T> struct Alike : Narrow {{}};
{argument}
template <typename Encoding> struct Reader {{ typename Encoding::Unit unit; }};
"""
    text = _user(tmp_path, header, "Reader<Wide> reader; n += reader.unit;")
    assert "typedef char Unit;" in text and "Never;" not in text and "never_used" not in text


@pytest.mark.parametrize("own", ["", "  typedef T Unit;\n"])
def test_a_member_that_is_named_inside_of_a_class_comes_with_it_or_with_its_base(own: str, tmp_path: Path) -> None:
    header = f"""\
#pragma once
template <typename T> struct Narrow {{
  typedef char Unit;
{NEVER_USED}}};
template <typename T> struct Wide : Narrow<T> {{
{own}{NEVER_USED}}};
template <typename T> struct Box {{ T held; }};
struct Holder : Box<Wide<int>::Unit> {{}};
"""
    text = _user(tmp_path, header, "Holder holder; n += holder.held;")
    assert ("typedef char Unit;" in text, own in text) == (not own, True) and "never_used" not in text


def test_what_a_template_asks_of_each_of_a_pack_of_arguments_comes_too(tmp_path: Path) -> None:
    header = f"""\
#pragma once
struct Narrow {{
  typedef char Unit;
{NEVER_USED}}};
template <typename T, typename U> struct Pair {{ T first; U second; }};
template <typename... All> struct Reader {{ Pair<int, typename All::Unit...> read; }};
"""
    text = _user(tmp_path, header, "Reader<Narrow> reader; n += reader.read.first;")
    assert "typedef char Unit;" in text and "never_used" not in text


def test_what_templates_ask_of_two_classes_is_shown_of_their_base(tmp_path: Path) -> None:
    header = f"""\
#pragma once
struct Narrow {{
  typedef char Unit;
  typedef int Width;
{NEVER_USED}}};
struct First : Narrow {{}};
struct Second : Narrow {{}};
template <typename Encoding> struct Reader {{ typename Encoding::Unit unit; }};
template <typename Encoding> struct Writer {{ typename Encoding::Width width; }};
"""
    text = _user(tmp_path, header, "Reader<First> reader; Writer<Second> writer; n += reader.unit + writer.width;")
    assert "typedef char Unit;" in text and "typedef int Width;" in text and "never_used" not in text


def test_what_a_template_asks_of_a_class_is_not_shown_of_the_types_of_its_members(tmp_path: Path) -> None:
    header = f"""\
#pragma once
struct Held {{
  int size;
  typedef int Unit;
{NEVER_USED}}};
struct Wide {{ typedef char Unit; Held held; }};
template <typename Encoding> struct Reader {{ typename Encoding::Unit unit; }};
"""
    text = _user(tmp_path, header, "Reader<Wide> reader; Held held; n += reader.unit + held.size;")
    assert "int size;" in text and "typedef int Unit;" not in text and "never_used" not in text
