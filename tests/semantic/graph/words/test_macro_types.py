"""Types and macros that macros name."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.graph.words.mentions import variables_of
from tests.semantic.documents.assembling import documents_of
from tests.semantic.sources import index

TESTING = """\
#pragma once
void add_test(void (*)(), const char*);
#define TEST(x, y) void x##y(); Registration r##x##y(x##y, #x "." #y); void x##y()
class Registration {
 public:
  Registration(void (*run)(), const char* name) { add_test(run, name); }
};
"""
LOGGING = """\
#pragma once
class Message {
 public:
  explicit Message(const char* file);
  Message& stream();
};
class Fatal { public: Fatal(const char* file); };
#define LOG_INFO Message(__FILE__)
#define LOG_FATAL Fatal(__FILE__)
#define LOG(severity) LOG_ ## severity.stream()
#define REPORT(level) LOG(level)
"""
FIXTURE = """\
#pragma once
struct Case { virtual void run() = 0; };
#define FIXTURE(name) struct Test##name : Case { void run() override; }; void Test##name::run()
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    sources = {
        "testing.h": TESTING,
        "logging.h": LOGGING,
        "fixture.h": FIXTURE,
        "first.cc": '#include "testing.h"\nTEST(Box, Area) { static int area = 1000003; area++; }\n',
        "second.cc": '#include "logging.h"\nvoid second(int size) { if (size > 1000033) REPORT(INFO); }\n',
        "third.cc": '#include "fixture.h"\nFIXTURE(Third) { static int third = 1000037; third++; }\n',
        "fourth.cc": '#include "fixture.h"\nFIXTURE(Fourth) { static int fourth = 1000039; fourth++; }\n',
    }
    found = documents_of(tmp_path_factory.mktemp("tree"), sources)
    return {name: document.text for name, document in found.items()}


def test_a_class_that_a_macro_names_is_shown_with_the_macro(texts: dict[str, str]) -> None:
    text = texts["BoxArea"]
    assert text.index("class Registration {") < text.index("TEST(Box, Area) {")
    assert "Registration(void (*run)(), const char* name)" in text


def test_a_name_that_is_made_through_a_second_macro_leads_to_its_macro_and_class(texts: dict[str, str]) -> None:
    assert "#define LOG_INFO" in texts["second"] and "#define LOG_FATAL" not in texts["second"]
    assert "explicit Message(const char* file);" in texts["second"] and "Message& stream();" in texts["second"]


def test_a_function_that_a_macro_declares_does_not_bring_another_function_of_its_name(texts: dict[str, str]) -> None:
    assert "1000037" not in texts["TestFourth::run"] and "1000039" not in texts["TestThird::run"]


@pytest.mark.parametrize("fields", [1, 40])
@pytest.mark.parametrize("name", ["box_t", "box_ptr"])
def test_the_second_name_of_a_class_leads_from_a_macro_to_the_class(name: str, fields: int, tmp_path: Path) -> None:
    text = "".join(f"  long field_{number};\n" for number in range(fields))
    macro = f"#define BOX_SIZE (sizeof({name}))\nlong v = 1000003 + BOX_SIZE;\n"
    repository, _ = index(tmp_path, {"a.cc": f"typedef struct box_s {{\n{text}}} box_t, *box_ptr;\n{macro}"})
    names = {number: node.chunk.name for number, node in enumerate(repository.nodes)}
    (place,) = (number for number, name in names.items() if name == "BOX_SIZE")
    assert [names[number] for number in repository.spelled[place]] == ["box_s"]


@pytest.mark.parametrize(
    ("code", "variables"),
    [
        ("bool negated) { negated }", {"negated"}),
        ("Box box = make()", {"box"}),
        ("bool x; x<int> y;", set()),
        ("Box x; x::y", set()),
        ("return first;", set()),
        ("struct Box;", set()),
    ],
)
def test_a_name_behind_the_name_of_a_type_is_a_variable(code: str, variables: set[str]) -> None:
    assert variables_of(code.encode()) == variables
