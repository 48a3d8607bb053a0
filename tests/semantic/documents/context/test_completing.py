"""What a document lacks is shown together, if that is worth the price, so that the document stands alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.documents.context.prices import Prices
from tests.semantic.documents.assembling import all_of, documents_of

FILLER = "".join(f"  int never_used_{number};\n" for number in range(60))
RUNNER = (
    """\
#pragma once
struct Runner {
  Runner(const char* name);
  virtual ~Runner() {}
  virtual void run() = 0;
  static int failures;
"""
    + FILLER
    + """\
};
#define UNKNOWN_OVERRIDE
#define CHECK(condition) if (!(condition)) Runner::failures++
#define TEST(name) struct Test_##name : Runner { \\
    Test_##name() : Runner(#name) {} \\
    void run() UNKNOWN_OVERRIDE; \\
  } instance_##name; \\
  void Test_##name::run()
"""
)
FIXTURE = (
    """\
#pragma once
class Case {
 public:
  virtual const char* name() const = 0;
 private:
  virtual void run() = 0;
"""
    + FILLER
    + """\
};
#define FIXTURE(Type, title) \\
  class Test##Type##title : public Type { \\
    const char* name() const override { return #title; } \\
    void run() override; \\
  }; \\
  void Test##Type##title::run()
"""
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    sources = {
        "runner.h": RUNNER,
        "fixture.h": FIXTURE,
        "a.cc": '#include "runner.h"\nTEST(adds) { static int added = 1000003; CHECK(added++); }\n',
        "b.cc": '#include "fixture.h"\nstruct Box : Case {};\nFIXTURE(Box, Area) { static int n = 1000033; n++; }\n',
        "c.cc": '#include "fixture.h"\nstruct Jar : Case {};\nFIXTURE(Jar, Size) { static int n = 1000037; n++; }\n',
    }
    return {name: each.text for name, each in documents_of(tmp_path_factory.mktemp("tree"), sources, 350).items()}


def test_a_base_class_in_a_macro_is_complete_with_the_members_that_the_macro_names(texts: dict[str, str]) -> None:
    text = next(text for text in texts.values() if "added = 1000003" in text)
    assert text.index("struct Runner {") < text.index("#define TEST") < text.index("TEST(adds) {")
    assert all(member in text for member in ("Runner(const char* name);", "virtual void run() = 0;", "int failures;"))
    assert "never_used" not in text


def test_the_destructor_of_a_class_that_a_macro_names_brings_that_of_its_base(tmp_path: Path) -> None:
    sources = {
        "case.h": "#pragma once\nclass Case {\n public:\n  virtual ~Case();\n  virtual void body() = 0;\n"
        f"{FILLER}}};\n#define NAMED(suite, name) suite##_##name\n"
        "#define EACH(suite, name) class NAMED(suite, name) : public Case { \\\n  public: \\\n"
        "  ~NAMED(suite, name)() override = default; \\\n  void body() override; \\\n}; \\\n"
        "void NAMED(suite, name)::body()\n",
        "a.cc": '#include "case.h"\nEACH(Box, Area) { static int area = 1000003; area++; }\n',
    }
    found = documents_of(tmp_path, sources, 400)
    text = next(each.text for each in found.values() if "EACH(Box, Area)" in each.text)
    assert "virtual ~Case();" in text and "never_used" not in text


def test_a_macro_that_overrides_a_function_brings_the_function_of_the_base(texts: dict[str, str]) -> None:
    text = next(text for text in texts.values() if "n = 1000037" in text)
    assert "virtual const char* name() const = 0;" in text and "virtual void run() = 0;" in text
    assert "never_used" not in text


def test_a_function_that_a_macro_declares_to_return_a_pointer_is_no_call(texts: dict[str, str]) -> None:
    text = next(text for text in texts.values() if "n = 1000037" in text)
    assert "struct Jar" in text and "Box" not in text


def test_a_document_is_completed_before_another_one_is_improved(tmp_path: Path) -> None:
    names = [f"helper_that_is_used_once_{number}" for number in range(12)]
    declared = "".join(f"int {name}(int first_argument, int second_argument);\n" for name in names)
    few = f"int few(int v) {{ return v * 1000 + {names[0]}(v, v); }}\n"
    filler = "".join(f"  v += {number}000003;\n" for number in range(20))
    many = "".join(f"  v += {name}(v, v);\n" for name in names[1:])
    sources = {"helper.h": declared, "few.cc": f'#include "helper.h"\n{few}', "many.cc": '#include "helper.h"\n'}
    sources["many.cc"] += f"int many(int v) {{\n{filler}{many}  return v;\n}}\n"
    made = all_of(tmp_path, sources, strategy="per_chunk", replication=1.12)
    texts = {document.root.name: document.text for document in made}
    assert f"int {names[0]}(int first_argument" in texts["few"]
    assert not any(f"int {name}(int first_argument" in texts["many"] for name in names[1:])


def test_the_rest_of_a_document_is_counted_at_the_price_at_which_it_is_shown_together() -> None:
    prices, shown = Prices(), Prices().price
    for worth, chars in ((4.0, 10), (0.01, 30), (0.001, 60)):
        shown.take(worth, chars)
    prices.complete(shown.taken, lambda chars: 90 / chars)
    assert prices.taken.total() == 100
    assert {step: chars for step, chars in prices.taken.items() if chars} == {64: 10, 0: 90}


def test_what_is_dear_only_together_keeps_its_own_price() -> None:
    prices, shown = Prices(), Prices().price
    for worth, chars in ((4.0, 10), (2.0, 1000)):
        shown.take(worth, chars)
    prices.complete(shown.taken, lambda chars: 90 / chars)
    assert prices.taken == shown.taken


def test_a_price_that_was_found_for_one_document_says_nothing_of_another() -> None:
    prices, shown = Prices(), Prices().price
    shown.take(0.01, 30)
    prices.take(shown.taken)
    prices.complete({64: 10}, lambda chars: 90 / chars)
    assert prices.taken[-213] == 30
